"""Rules of interpolation."""
from __future__ import annotations

from typing import Any

from ..array import MetaArray, blank
from ..probe import delivered
from .new_rules import Sizes, new_rules

RULES, rule = new_rules()


@rule
def grid_sample(x: MetaArray, grid: MetaArray, *, out: MetaArray | None = None, **options: Any) -> MetaArray:
    return delivered(blank((*x.shape[:2], *grid.shape[1:-1]), x.dtype), out)


@rule
def grid_sample_grad(g: MetaArray, x: MetaArray, grid: MetaArray, *, with_input: bool, with_grid: bool, out: Any = None,
                     **options: Any) -> tuple[MetaArray | None, MetaArray | None]:
    dx = blank(x.shape, x.dtype) if with_input else None
    return delivered((dx, blank(grid.shape, grid.dtype) if with_grid else None), out)


@rule
def resample(x: MetaArray, *, lengths: Sizes, **geometry: Any) -> MetaArray:
    return blank((*x.shape[:2], *lengths), x.dtype)


RULES["resample_grad"] = resample
