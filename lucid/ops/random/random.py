"""Random tensors. The same seed gives the same elements on every device."""
from __future__ import annotations

from typing import Any

from ... import _dtypes, _random, backends
from ...autograd.errors import type_name
from ...backends.memory_format import preserve_format
from ...tensor import Tensor, wrap
from .._independence import with_zero_gradients
from .._operands import integers, refuse_stored
from .._out import fills_out
from ..creation.creation import device_for, like
from .random_numbers import at_least_single, check_range, float_dtype, random_floats, random_integers, refuted


def _shape(sizes: Any) -> tuple[int, ...]:
    shape = integers(sizes)
    if shape and min(shape) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def _made(result: Tensor, requires_grad: bool) -> Tensor:
    if requires_grad:
        result.requires_grad = True
    return result


@fills_out
def rand(*sizes: Any, size: Any = (), generator: _random.Generator | None = None, dtype: Any = None, device: Any = None,
         requires_grad: bool = False) -> Tensor:
    """Samples from the uniform distribution on [0, 1): ``rand(2, 3)`` or ``rand((2, 3))``.

    >>> x = lucid.rand(2, 1000)
    >>> x.shape, bool((x >= 0).all()), bool((x < 1).all())
    (lucid.Size([2, 1000]), True, True)
    """
    chosen = float_dtype("check_uniform_bounds", dtype)
    return _made(random_floats("random_uniform", _shape(sizes or (size,)), chosen, device_for(device), generator), requires_grad)


@fills_out
def randn(*sizes: Any, size: Any = (), generator: _random.Generator | None = None, dtype: Any = None, device: Any = None,
          requires_grad: bool = False) -> Tensor:
    """Samples from the standard normal distribution: ``randn(2, 3)`` or ``randn((2, 3))``.

    >>> x = lucid.randn(10, 1000)
    >>> x.mean().round(decimals=1), x.std().round(decimals=1)
    (Tensor(0.0, requires_grad=False), Tensor(1.0, requires_grad=False))
    """
    chosen = float_dtype("normal_kernel_cpu", dtype)
    return _made(random_floats("random_normal", _shape(sizes or (size,)), chosen, device_for(device), generator), requires_grad)


@fills_out
def randint(*args: Any, low: int | None = None, high: int | None = None, size: Any = None,
            generator: _random.Generator | None = None, dtype: Any = None, device: Any = None,
            requires_grad: bool = False) -> Tensor:
    """Integers from [low, high), int64 by default: ``randint(high, size)`` or ``randint(low, high, size)``.

    Raises RuntimeError for an empty range and for one that the dtype cannot hold.

    >>> lucid.randint(3, 6, (1000,)).unique()
    Tensor([3, 4, 5], requires_grad=False)
    """
    given = list(args)
    if given and isinstance(given[-1], (tuple, list)):
        size = given.pop()
    if len(given) == 2:
        low, high = given
    elif len(given) == 1:
        low, high = (low, given[0]) if high is None else (given[0], high)
    if size is None or high is None:
        raise TypeError("randint() needs high and size: randint(high, size) or randint(low, high, size)")
    chosen = _dtypes.int64 if dtype is None else _dtypes.as_dtype(dtype)
    low, high = int(low or 0), int(high)
    check_range(low, high, chosen)
    return _made(random_integers(_shape((size,)), low, high, chosen, device_for(device), generator), requires_grad)


@fills_out
def randperm(n: int, *, generator: _random.Generator | None = None, dtype: Any = None, device: Any = None,
             requires_grad: bool = False) -> Tensor:
    """The integers from 0 to ``n - 1`` in random order, int64 by default.

    >>> lucid.randperm(5).sort().values
    Tensor([0, 1, 2, 3, 4], requires_grad=False)
    """
    chosen, where = _dtypes.int64 if dtype is None else _dtypes.as_dtype(dtype), device_for(device)
    refuse_stored("randperm", chosen)
    if chosen.kind in "bc":
        raise NotImplementedError(f"\"randperm\" not implemented for '{type_name(chosen)}'")
    # Sorting random 64-bit keys: the same permutation on every device.
    keys = random_integers(_shape((n,)), 0, 1 << 63, _dtypes.int64, where, generator)
    order = wrap(backends.run("argsort", (keys._array,), {"axis": 0}))
    return _made(order.to(chosen), requires_grad)


def rand_like(input: Tensor, *, generator: _random.Generator | None = None, dtype: Any = None, device: Any = None,
              requires_grad: bool = False, memory_format: Any = preserve_format) -> Tensor:
    """`rand` with the shape, and by default the dtype, device and memory format, of `input`.

    >>> lucid.rand_like(lucid.ones(2, 3, dtype=lucid.float64)).dtype
    dtype('float64')
    """
    return like(input, memory_format, lambda shape: rand(
        shape, generator=generator, dtype=dtype or input.dtype, device=device or input.device, requires_grad=requires_grad))


def randn_like(input: Tensor, *, generator: _random.Generator | None = None, dtype: Any = None, device: Any = None,
               requires_grad: bool = False, memory_format: Any = preserve_format) -> Tensor:
    """`randn` with the shape, and by default the dtype, device and memory format, of `input`.

    >>> lucid.randn_like(lucid.ones(2, 3)).shape
    lucid.Size([2, 3])
    """
    return like(input, memory_format, lambda shape: randn(
        shape, generator=generator, dtype=dtype or input.dtype, device=device or input.device, requires_grad=requires_grad))


def randint_like(input: Tensor, *args: Any, low: int | None = None, high: int | None = None,
                 generator: _random.Generator | None = None, dtype: Any = None, device: Any = None,
                 requires_grad: bool = False, memory_format: Any = preserve_format) -> Tensor:
    """`randint` with the shape, and by default the dtype, device and memory format, of `input`.

    >>> lucid.randint_like(lucid.zeros(1000, dtype=lucid.int64), 3).unique()
    Tensor([0, 1, 2], requires_grad=False)
    """
    return like(input, memory_format, lambda shape: randint(
        *args, tuple(shape), low=low, high=high, generator=generator, dtype=dtype or input.dtype, device=device or input.device,
        requires_grad=requires_grad))


@fills_out
def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, *, generator: _random.Generator | None = None,
           dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Normal samples with `mean` and `std`: tensors, which are broadcast and get zeros as gradients, or scalars with a `size`.

    >>> lucid.normal(lucid.tensor([10.0, 20.0]), lucid.tensor([0.0, 0.0]))
    Tensor([10.0, 20.0], requires_grad=False)
    >>> lucid.normal(0.0, 1.0, size=(2, 3)).shape
    lucid.Size([2, 3])
    """
    if not isinstance(std, Tensor) and std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    if isinstance(std, Tensor) and refuted(std >= 0):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    given = [t for t in (mean, std) if isinstance(t, Tensor)]
    if not given:
        if size is None:
            raise TypeError("normal() needs a size if neither mean nor std is a tensor")
        shape, where = _shape((size,)), device_for(device)
    else:
        from ..manipulation.broadcasting import broadcast_shapes

        shape, where = broadcast_shapes(*[t.shape for t in given]), given[0].device
        dtype = given[0].dtype if dtype is None else dtype
    chosen = float_dtype("normal_kernel_cpu", dtype)
    numbers = random_floats("random_normal", shape, at_least_single(chosen), where, generator)
    if given or mean != 0 or std != 1:
        shift, scale = (t.detach() if isinstance(t, Tensor) else t for t in (mean, std))
        numbers = numbers * scale + shift
    return with_zero_gradients(_made(numbers.to(chosen), requires_grad), *given)
