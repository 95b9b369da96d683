"""Functions and modules to trace, of PyTorch or lucid: `programs(torch)` gives them by names, with inputs for each.

Annotations are evaluated, as a graph prints them. PYTEST_DONT_REWRITE: assertions are recorded from their bytecode.
"""
import math
from collections import namedtuple
from collections.abc import Callable
from types import ModuleType
from typing import Any

Pair = namedtuple("Pair", "first second")


def asserted(x):
    """Returns `x`."""
    assert x.sum() > 0, "not positive"
    assert x.sum() < 9
    return x


def programs(torch: ModuleType) -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """What to trace, and inputs."""
    nn, functional = torch.nn, torch.nn.functional

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.param = nn.Parameter(torch.ones(3, 4))
            self.linear = nn.Linear(4, 5)
            self.register_buffer("b", torch.ones(5))
            self.seq = nn.Sequential(nn.ReLU(), nn.Linear(5, 5))

        def forward(self, x, y=2.5, *args, z: float = 1.0, **keywords):
            t = self.linear(x + self.param).clamp(min=-3.0, max=3.0)
            t += self.b
            first, second = self.seq(t).chunk(2, dim=0)
            picked = t[:, 0:2] @ first.T[:2]
            joined = torch.cat([t, t], 1) - 1 / t.shape[0] + math.pi
            return {"a": picked, "b": [second, -joined], "s": (slice(1, None), y, t.size(0), functional.relu(t, inplace=True) == 0)}

    class Containers(nn.Module):
        def __init__(self):
            super().__init__()
            self.d = nn.ModuleDict({"a b": nn.Linear(3, 3)})
            self.l = nn.ModuleList([nn.ReLU(), nn.Identity()])
            self.p = nn.ParameterList([nn.Parameter(torch.ones(3))])
            self.add = nn.Identity()

        def forward(self, x: torch.Tensor, scale: float | None = None) -> torch.Tensor:
            for layer in self.l:
                x = layer(x)
            x = self.add(x) + 1
            return self.d["a b"](x) + self.p[0] * len(self.l) + self.l[0](x)

    def operators(x, y):
        x.mul_(2)
        product = x * y
        constant = torch.ones(3) + product
        return (constant, product + torch.zeros(3), product ** 2, 2 ** product, 3 - product, product % 2, abs(product), product.mT,
                product[..., None], product // 2, product.sum().item(), math.sqrt(2), product.shape, product >= y, +product)

    def calls(x, flag, n=3):
        return torch.sigmoid(x) * n if flag else functional.softmax(x, dim=-1)

    def types(x):
        return torch.zeros_like(x, dtype=torch.float64, device="cpu"), x.to(torch.int64), x.new_ones((2,)), torch.zeros(x.shape[0])

    def pair(x):
        return Pair(x, x + 1)

    def unpacked(x, *, k):
        a, (b, c) = x[0], x[1:]
        return a * k, b, math.floor(c.sum()), x.split(1)[0].T

    ones = torch.ones(3, 3)
    return {"model": (Model(), (torch.ones(3, 4),)), "containers": (Containers(), (ones,)), "operators": (operators, (ones + 1, ones)),
            "calls": (calls, (ones, True)), "types": (types, (ones,)), "pair": (pair, (ones,)), "unpacked": (unpacked, (ones, 2)),
            "layers": (nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten()), (torch.ones(1, 1, 3, 3),))}
