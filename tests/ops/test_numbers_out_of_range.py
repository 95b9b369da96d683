"""Numbers that a dtype does not hold: what makes or fills a tensor raises as PyTorch does, and leaves the tensor as it is."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

import lucid

FILLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "full": lambda t, dtype, value: t.full((2,), value, dtype=dtype),
    "new_full": lambda t, dtype, value: t.zeros(2, dtype=dtype).new_full((2,), value),
    "full_like": lambda t, dtype, value: t.full_like(t.zeros(2, dtype=dtype), value),
    "tensor": lambda t, dtype, value: t.tensor([value, value], dtype=dtype),
    "fill_": lambda t, dtype, value: t.zeros(2, dtype=dtype).fill_(value),
    "masked_fill": lambda t, dtype, value: t.zeros(2, dtype=dtype).masked_fill(t.tensor([True, True]), value),
    "index_fill": lambda t, dtype, value: t.zeros(2, dtype=dtype).index_fill(0, t.tensor([0]), value),
    "scatter": lambda t, dtype, value: t.zeros(2, dtype=dtype).scatter(0, t.tensor([0]), value),
}
NUMBERS = (255, 256, -1, -129, -256, 2**31, 2**63 - 1, 1e10, -1.0, 300.7, math.nan, math.inf)


def outcome(library: Any, fill: Callable[..., Any], dtype: str, value: Any) -> Any:
    try:
        return fill(library, getattr(library, dtype), value).tolist()
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("name", FILLS)
def test_as_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    for dtype in ("uint8", "int8", "int32", "int64", "bool", "float16"):
        for value in NUMBERS:
            found = [outcome(library, FILLS[name], dtype, value) for library in (lucid, torch)]
            assert repr(found[0]) == repr(found[1]), (dtype, value)


@pytest.mark.filterwarnings("error")
def test_bounds_beyond_the_dtype_are_infinite() -> None:
    assert lucid.tensor([1.0, -math.inf, math.inf]).clamp(-1e300, 1e300).tolist() == [1.0, -math.inf, math.inf]
    assert lucid.tensor([1.0, 2.0]).clamp(1e300, math.nan).isnan().all()


def test_repeats_are_not_negative() -> None:
    with pytest.raises(RuntimeError, match="negative"):
        lucid.arange(3).repeat_interleave(lucid.tensor([1, -1, 2]))
    assert lucid.arange(3).repeat_interleave(lucid.tensor([0, 0, 0])).tolist() == []


def test_nothing_is_changed(device: str) -> None:
    x = lucid.ones(3, dtype=lucid.int8, device=device)
    for wrong in (128, 1e10, math.nan):
        for call in (lambda: x.fill_(wrong), lambda: x.masked_fill_(x > 0, wrong), lambda: x.__setitem__(0, wrong)):  # noqa: B023
            with pytest.raises(RuntimeError, match="without overflow"):
                call()
    assert x.tolist() == [1, 1, 1]
    with pytest.raises(OverflowError):
        x.fill_(2**64)
