"""Small trainings with autocast in bfloat16 end at the loss of those in float32, within a hundredth of what they gain."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lucid
import lucid.nn.functional as F
from lucid import nn

Recipe = Callable[[], tuple[nn.Module, Callable[[nn.Module], Any]]]


def _patterns(*shape: int) -> tuple[Any, Any]:
    """Noisy copies of four patterns, and which one each is of."""
    target = lucid.arange(32) % 4
    return lucid.randn(4, *shape)[target] + 0.3 * lucid.randn(32, *shape), target


def mlp() -> Any:
    x, target = _patterns(12)
    return nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4)), lambda model: F.cross_entropy(model(x), target)


def mlp_with_norm() -> Any:
    x, target = _patterns(12)
    model = nn.Sequential(nn.Linear(12, 32), nn.LayerNorm(32), nn.GELU(), nn.Dropout(0.0), nn.Linear(32, 4))
    return model, lambda model: F.cross_entropy(model(x), target, label_smoothing=0.1)


def cnn() -> Any:
    x, target = _patterns(1, 8, 8)
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3),
                          nn.ReLU(), nn.Flatten(), nn.Linear(32, 4))
    return model, lambda model: F.cross_entropy(model(x), target)


class _Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enter, self.inner, self.leave = nn.Conv1d(2, 8, 3, padding=1), nn.Conv1d(8, 8, 3, padding=1), nn.Linear(8, 4)
        self.norm = nn.GroupNorm(2, 8)

    def forward(self, x: Any) -> Any:
        x = self.enter(x)
        return self.leave((x + F.silu(self.norm(self.inner(x)))).mean(-1))


def residual() -> Any:
    x, target = _patterns(2, 10)
    return _Residual(), lambda model: F.cross_entropy(model(x), target)


class _Recurrent(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer, self.head = layer, nn.Linear(16, 4)

    def forward(self, x: Any) -> Any:
        return self.head(self.layer(x)[0][:, -1])


def lstm() -> Any:
    x, target = _patterns(6, 5)
    return _Recurrent(nn.LSTM(5, 16, batch_first=True)), lambda model: F.cross_entropy(model(x), target)


def gru() -> Any:
    x, target = _patterns(6, 5)
    return _Recurrent(nn.GRU(5, 16, batch_first=True)), lambda model: F.cross_entropy(model(x), target)


class _Language(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(7, 16), nn.Parameter(0.1 * lucid.randn(12, 16))
        self.block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(16, 7)

    def forward(self, tokens: Any) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.block(self.embed(tokens) + self.place, src_mask=mask))


def gpt() -> Any:
    tokens = (lucid.arange(13)[None] * lucid.arange(1, 9)[:, None]) % 7
    return _Language(), lambda model: F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


class _Vision(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches, self.attention = nn.Conv2d(1, 16, 4, 4), nn.MultiheadAttention(16, 4, batch_first=True)
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 4)

    def forward(self, x: Any) -> Any:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = self.norm(x + self.attention(x, x, x, need_weights=False)[0])
        return self.head(x.mean(1))


def vit() -> Any:
    x, target = _patterns(1, 8, 8)
    return _Vision(), lambda model: F.cross_entropy(model(x), target)


def autoencoder() -> Any:
    x = lucid.randn(32, 3) @ lucid.randn(3, 16)
    model = nn.Sequential(nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 3), nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 16))
    return model, lambda model: F.mse_loss(model(x), x)


def regression() -> Any:
    x = lucid.linspace(-2, 2, 64)[:, None]
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
    return model, lambda model: F.smooth_l1_loss(model(x), lucid.sin(2 * x))


def multilabel() -> Any:
    x = lucid.randn(32, 8)
    target = (x @ lucid.randn(8, 5) > 0).float()
    return nn.Linear(8, 5), lambda model: F.binary_cross_entropy_with_logits(model(x), target)


RECIPES = (mlp, mlp_with_norm, cnn, residual, lstm, gru, gpt, vit, autoencoder, regression, multilabel)


def trained(recipe: Recipe, enabled: bool, steps: int = 40) -> tuple[float, float]:
    """The loss in float32 before and after a training."""
    lucid.manual_seed(0)
    model, loss_of = recipe()
    optimizer = lucid.optim.Adam(model.parameters(), lr=5e-3)
    start = loss_of(model).item()
    for _ in range(steps):
        optimizer.zero_grad()
        with lucid.autocast("cpu", dtype=lucid.bfloat16, enabled=enabled):
            loss = loss_of(model)
        assert loss.dtype == "float32"
        loss.backward()
        optimizer.step()
    return start, loss_of(model).item()


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.__name__)
def test_the_loss_of_float32_is_reached(recipe: Recipe) -> None:
    start, exact = trained(recipe, enabled=False)
    _, mixed = trained(recipe, enabled=True)
    assert exact < 0.8 * start
    assert abs(mixed - exact) < 0.01 * start
