"""New arrays."""
from __future__ import annotations

from typing import Any

import lucid

from .. import Tensor, empty_like, full_like, ones_like, zeros_like

__all__ = ["arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "meshgrid", "ones",
           "ones_like", "tril", "triu", "zeros", "zeros_like"]


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Tensor:
    """`obj` (an array, a scalar, a nested sequence, anything that NumPy reads or with `__dlpack__`) as an array.

    Memory is shared where possible unless `copy`. Raises ValueError if `copy` is False and sharing is impossible.

    >>> from lucid import array_api as xp
    >>> xp.asarray([1, 2], dtype=xp.float32)
    Tensor([1.0, 2.0], requires_grad=False)
    """
    return lucid.asarray(obj, dtype=dtype, device=device, copy=copy)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """An array over the memory of an object with `__dlpack__`. Raises ValueError if `copy` is False and it must be copied.

    >>> from lucid import array_api as xp
    >>> xp.from_dlpack(np.arange(3.0))
    Tensor([0.0, 1.0, 2.0], dtype=float64, requires_grad=False)
    """
    return lucid.from_dlpack(x, device=device, copy=copy)


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Tensor:
    """The values from `start` (0 if only one bound is given) up to, not including, `stop`; none if `step` leads away from it.

    >>> from lucid import array_api as xp
    >>> xp.arange(1, 7, 2)
    Tensor([1, 3, 5], requires_grad=False)
    """
    if stop is None:
        start, stop = 0, start
    if (stop - start) * step < 0:
        whole = all(isinstance(number, int) for number in (start, stop, step))
        return lucid.empty(0, dtype=dtype or (lucid.int64 if whole else None), device=device)
    return lucid.arange(start, stop, step, dtype=dtype, device=device)


def linspace(start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True) -> Tensor:
    """`num` values from `start` to `stop`, evenly spaced; `stop` is the last one if `endpoint`.

    >>> from lucid import array_api as xp
    >>> xp.linspace(0, 1, 5)
    Tensor([0.00, 0.25, 0.50, 0.75, 1.00], requires_grad=False)
    """
    if endpoint:
        return lucid.linspace(start, stop, num, dtype=dtype, device=device)
    return lucid.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array whose elements are whatever was in memory.

    >>> from lucid import array_api as xp
    >>> xp.empty((2, 3)).shape
    lucid.Size([2, 3])
    """
    return lucid.empty(shape, dtype=dtype, device=device)


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Zeros.

    >>> from lucid import array_api as xp
    >>> xp.zeros((2, 2))
    Tensor([[0.0, 0.0],
            [0.0, 0.0]], requires_grad=False)
    """
    return lucid.zeros(shape, dtype=dtype, device=device)


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones.

    >>> from lucid import array_api as xp
    >>> xp.ones((2, 2))
    Tensor([[1.0, 1.0],
            [1.0, 1.0]], requires_grad=False)
    """
    return lucid.ones(shape, dtype=dtype, device=device)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An array filled with a number, whose type gives the default dtype.

    >>> from lucid import array_api as xp
    >>> xp.full((2,), 7)
    Tensor([7, 7], requires_grad=False)
    """
    return lucid.full((shape,) if isinstance(shape, int) else shape, fill_value, dtype=dtype, device=device)


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Tensor:
    """Ones on diagonal `k` and zeros elsewhere.

    >>> from lucid import array_api as xp
    >>> xp.eye(2, k=1)
    Tensor([[0.0, 1.0],
            [0.0, 0.0]], requires_grad=False)
    """
    columns = n_rows if n_cols is None else n_cols
    result = lucid.zeros(n_rows, columns, dtype=dtype, device=device)
    if -n_rows < k < columns:
        result.diagonal(k).fill_(1)
    return result


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The lower triangles up to diagonal `k`, zeros above.

    >>> from lucid import array_api as xp
    >>> xp.tril(xp.ones((2, 2)))
    Tensor([[1.0, 0.0],
            [1.0, 1.0]], requires_grad=False)
    """
    return lucid.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The upper triangles from diagonal `k`, zeros below.

    >>> from lucid import array_api as xp
    >>> xp.triu(xp.ones((2, 2)))
    Tensor([[1.0, 1.0],
            [0.0, 1.0]], requires_grad=False)
    """
    return lucid.triu(x, k)


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """Grids of coordinates; for 'xy' the first two axes change places. Views: they are not to be written to.

    >>> from lucid import array_api as xp
    >>> xp.meshgrid(xp.asarray([1, 2]), xp.asarray([7, 8]))[0]
    Tensor([[1, 2],
            [1, 2]], requires_grad=False)
    """
    return list(lucid.meshgrid(*arrays, indexing=indexing))
