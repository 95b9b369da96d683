"""What random functions share: counters for the kernels, checks of dtypes, ranges and conditions."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import _clock as clock
from ... import _dtypes, _random, backends
from ..._limits import finfo
from ..._writers import writes
from ...autograd.errors import type_name
from ...autograd.grad_mode import GRAD
from ...autograd.grad_mode import mode as grad_mode
from ...backends import Device
from ...tensor import Tensor, version_box, wrap
from ..manipulation.complex import view_as_complex


def take_counters(generator: _random.Generator | None, count: int, per_block: int, device: Device) -> dict[str, int]:
    """Counters for `count` elements, of which a block gives `per_block`; the device 'meta' takes none."""
    if device.type == "meta":
        return {"seed": 0, "offset": 0}
    seed, offset = (generator or _random.default_generator).take(-(-count // per_block), device.type == "gpu")
    return {"seed": seed, "offset": offset}


@writes("target")
def draw_into(target: Tensor, name: str, generator: _random.Generator | None, *steps: tuple[Any, ...],
              **attributes: Any) -> bool:
    """Write the samples of `random_floats` straight into `target`, and take `steps` there, operations with their operands, of
    which None stands for the elements, if that is all that there is to do; False, with nothing done, otherwise.

    So it is for float32 and float64 on the CPU in row-major order, of which nothing is recorded.
    """
    array = target._array
    dtype = array.dtype
    if array.__class__ is not np.ndarray or dtype.kind != "f" or dtype.itemsize < 4 or not array.flags.carray:
        return False
    if ((target._node is not None or target._view is not None) and grad_mode.get() & GRAD) or clock.any_guarded:
        return False
    seed, offset = (generator or _random.default_generator).take(-(-array.nbytes // 16))
    table = backends.TABLES[np.ndarray]
    table[name](shape=array.shape, dtype=dtype, seed=seed, offset=offset, **attributes, out=array)
    for operation, *operands in steps:
        table[operation](*[array if operand is None else operand for operand in operands], out=array)
    (target._version_box or version_box(target)).bump()
    return True


def scaled(scale: Any, shift: Any) -> list[tuple[Any, ...]] | None:
    """The steps of `draw_into` to ``numbers * scale + shift``; None unless they are scalars, and `scale` not negative."""
    if scale.__class__ not in (float, int) or shift.__class__ not in (float, int) or not scale >= 0:
        return None
    return [] if scale == 1 and shift == 0 else [("mul", None, scale), ("add", None, shift)]


def random_floats(name: str, shape: tuple[int, ...], dtype: np.dtype, device: Device, generator: Any,
                  **attributes: Any) -> Tensor:
    if dtype.kind == "c":  # independent parts; those of normal samples share their variance
        part = _dtypes.float32 if dtype == _dtypes.complex64 else _dtypes.float64
        parts = random_floats(name, (*shape, 2), part, device, generator, **attributes)
        return view_as_complex(parts * math.sqrt(0.5) if name == "random_normal" else parts)
    counters = take_counters(generator, math.prod(shape), 2 if dtype == _dtypes.float64 else 4, device)
    return wrap(backends.create(name, device, {"shape": shape, "dtype": dtype, **attributes, **counters}))


def at_least_single(dtype: np.dtype) -> np.dtype:
    """The dtype in which random numbers of a floating `dtype` are drawn where half precision has too few for what follows.

    >>> nn.init.at_least_single(lucid.float16), nn.init.at_least_single(lucid.float64)
    (dtype('float32'), dtype('float64'))
    """
    return _dtypes.float32 if dtype.itemsize == 2 else dtype


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


def check_bounds(low: float, high: float, dtype: np.dtype) -> None:
    """Raise RuntimeError for a range [low, high) of floats that is empty, or that a floating `dtype` cannot hold."""
    largest = finfo(dtype).max
    for name, bound in (("from", low), ("to", high)):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {dtype.name}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}")
    if high - low > largest:
        raise RuntimeError(f"uniform_ expects to-from <= {largest}, the largest number of {dtype.name}, but found to={high} and "
                           f"from={low}")


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
