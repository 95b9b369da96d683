"""Small modules for the tests of Module."""
from __future__ import annotations

import lucid
from lucid import Tensor, nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(lucid.ones(2))
        self.register_buffer("mean", lucid.zeros(2))
        self.register_buffer("cache", lucid.zeros(2), persistent=False)
        self.register_buffer("slot", None)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight + self.mean


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = Block()
        self.second = Block()
        self.second.weight = self.first.weight
        self.count = nn.Buffer(0)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x))
