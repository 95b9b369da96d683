"""What random functions share: counters for the kernels, checks of dtypes, ranges and conditions."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _dtypes, _random, backends
from ..autograd.errors import type_name
from ..backends import Device
from ..tensor import Tensor, wrap
from .complex_parts import view_as_complex


def take_counters(generator: _random.Generator | None, count: int, per_block: int, device: Device) -> dict[str, int]:
    """Counters for `count` numbers, of which a block gives `per_block`; the device 'meta' takes none."""
    if device.type == "meta":
        return {"seed": 0, "offset": 0}
    seed, offset = (generator or _random.default_generator).take(-(-count // per_block))
    return {"seed": seed, "offset": offset}


def random_floats(name: str, shape: tuple[int, ...], dtype: np.dtype, device: Device, generator: Any) -> Tensor:
    if dtype.kind == "c":  # independent parts; those of normal numbers share their variance
        part = _dtypes.float32 if dtype == _dtypes.complex64 else _dtypes.float64
        parts = random_floats(name, (*shape, 2), part, device, generator)
        return view_as_complex(parts * math.sqrt(0.5) if name == "random_normal" else parts)
    counters = take_counters(generator, math.prod(shape), 2 if dtype == _dtypes.float64 else 4, device)
    return wrap(backends.create(name, device, {"shape": shape, "dtype": dtype, **counters}))


def random_integers(shape: tuple[int, ...], low: int, high: int, dtype: np.dtype, device: Device, generator: Any) -> Tensor:
    counters = take_counters(generator, math.prod(shape), 2, device)
    return wrap(backends.create("random_integers", device,
                                {"shape": shape, "dtype": dtype, "low": low, "high": high, **counters}))


def refuted(condition: Tensor) -> bool:
    """Whether `condition` is False anywhere; on the device 'meta', where nobody can tell, it is not."""
    return not condition.is_meta and not bool(condition.all())


def float_dtype(kernel: str, dtype: Any) -> np.dtype:
    """The dtype of random floats, which may be complex. Raises NotImplementedError, as PyTorch does, for others."""
    chosen = _dtypes.get_default_dtype() if dtype is None else _dtypes.as_dtype(dtype)
    if not _dtypes.is_differentiable(chosen):
        raise NotImplementedError(f'"{kernel}" not implemented for \'{type_name(chosen)}\'')
    return chosen


def check_range(low: int, high: int, dtype: np.dtype) -> None:
    """Raise RuntimeError for an empty range of integers, or one that `dtype` cannot hold."""
    if dtype.kind == "c":
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype.kind in "iub":
        limits = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        for name, bound in (("from", low), ("to - 1", high - 1)):
            if not limits[0] <= bound <= limits[1]:
                raise RuntimeError(f"{name} is out of bounds for {dtype.name}")
