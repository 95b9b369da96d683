"""Which modules run."""
from __future__ import annotations

from typing import Any

import pytest

import lucid
from lucid import nn
from lucid.utils.module_tracker import ModuleTracker


class Seen(lucid.autograd.Function):
    """Notes what runs, in both passes."""

    @staticmethod
    def forward(ctx: Any, x: Any, tracker: ModuleTracker, seen: list[Any]) -> Any:
        ctx.tracker, ctx.seen = tracker, seen
        seen.append((tracker.is_bw, sorted(tracker.parents)))
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        ctx.seen.append((ctx.tracker.is_bw, sorted(ctx.tracker.parents)))
        return g * 2, None, None


class Noting(nn.Module):
    def __init__(self, tracker: ModuleTracker, seen: list[Any]) -> None:
        super().__init__()
        self.tracker, self.seen = tracker, seen

    def forward(self, x: Any) -> Any:
        return Seen.apply(x, self.tracker, self.seen)


def test_both_passes() -> None:
    tracker, seen = ModuleTracker(), []
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(Noting(tracker, seen)), nn.Linear(2, 2))
    inside = ["Global", "Sequential", "Sequential.1", "Sequential.1.0"]
    with tracker:
        y = model(lucid.ones(3, 2))
        assert tracker.parents == {"Global"}
        y.sum().backward()
        assert tracker.parents == {"Global"} and not tracker.is_bw
        model(lucid.ones(3, 2)).sum().backward()
    assert seen == [(False, inside), (True, inside)] * 2
    model(lucid.ones(3, 2))
    assert seen[-1] == (False, ["Global"])


def test_memory_is_filled_in_deterministic_runs(device: str) -> None:
    settings = lucid.utils.deterministic
    lucid.use_deterministic_algorithms(True)
    try:
        assert lucid.empty(2, device=device).isnan().all() and lucid.ones(1, device=device).new_empty(2).isnan().all()
        for dtype, value in ((lucid.int8, 127), (lucid.bool, True), (lucid.uint16, 65535), (lucid.int64, 2 ** 63 - 1)):
            assert lucid.empty_like(lucid.zeros(2, device=device), dtype=dtype).tolist() == [value] * 2
        assert lucid.empty(1, dtype=lucid.complex64, device=device).real.isnan().all()
        assert lucid.empty(1, dtype=lucid.float8_e5m2, device=device).float().isnan().all()
        grown = lucid.ones(1, device=device).resize_(3)
        assert grown[0] == 1 and grown[1:].isnan().all()
        settings.fill_uninitialized_memory = False
        assert not settings.fill_uninitialized_memory and lucid.empty(3, device=device).shape == (3,)
    finally:
        settings.fill_uninitialized_memory = True
        lucid.use_deterministic_algorithms(False)
    with pytest.raises(TypeError):
        settings.fill_uninitialized_memory = 1
