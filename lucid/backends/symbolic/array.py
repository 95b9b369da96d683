"""SymbolicArray: the place of an array in a formula that is being traced. It has a dtype and an expression, and no elements."""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from lucid_kernels.expression import Node

_DIMENSIONS = 32  # more than anybody needs: an operation on dimension 3 is refused by its name, not by an index


class Untraceable(TypeError):
    """What a formula must not do."""


class _Length(int):
    """An unknown length of a dimension. It is equal to itself, and nothing else can be done with it."""

    __slots__ = ()

    def _refuse(self, *others: Any) -> Any:
        raise Untraceable(SHAPES)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = _refuse
    __rfloordiv__ = __rmod__ = __pow__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = _refuse
    __int__ = __index__ = __float__ = _refuse

    def __repr__(self) -> str:
        return "?"

    __str__ = __repr__


class _Size(int):
    """The number of elements: operators choose a kernel by it. Users may not read it, and an error may not tell."""

    __slots__ = ()
    __int__ = __index__ = __format__ = _Length._refuse


class SymbolicArray:
    """What operations need to know of an array in a formula.

    All have the same `shape`, that of the result, so the gradient rules have nothing to sum: what broadcasting requires is done
    once, around the whole formula. `ndim` is 0 for what has no dimensions and yields in type promotion. A write with `out` puts
    another expression behind the object.
    """

    __slots__ = ("__weakref__", "ndim", "node")

    shape = (_Length(2),) * _DIMENSIONS
    strides = (1,) * _DIMENSIONS
    size: int = _Size(1)
    flags = SimpleNamespace(c_contiguous=True, writeable=True)
    base = None

    def __init__(self, node: Node, ndim: int) -> None:
        self.node = node
        self.ndim = ndim

    @property
    def dtype(self) -> Any:
        return self.node.dtype

    @property
    def itemsize(self) -> int:
        return int(self.node.dtype.itemsize)

    def copy(self, order: str = "C") -> SymbolicArray:
        """Another object with the same expression."""
        return SymbolicArray(self.node, self.ndim)

    def astype(self, dtype: Any, copy: bool = True) -> SymbolicArray:
        """The expression, cast."""
        return SymbolicArray(Node("cast", dtype, (self.node,)), self.ndim)

    def __len__(self) -> int:
        return int(self.shape[0])

    def _refuse(self, *arguments: Any, **keywords: Any) -> Any:
        raise Untraceable(CAPTURED)

    __array_ufunc__ = __array_function__ = _refuse

    def reshape(self, *shape: Any) -> Any:
        """Raises Untraceable, as every change of shape does."""
        raise Untraceable(SHAPES)

    transpose = view = reshape

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise Untraceable(VALUES)


def argument(number: int, dtype: Any, dimensions: bool) -> SymbolicArray:
    """The symbol of an argument of a formula, with `dimensions` or without."""
    return SymbolicArray(Node("input", dtype, (), number), _DIMENSIONS if dimensions else 0)


CAPTURED = "it got a tensor that is not an argument of the fused function; make it one"
SHAPES = "a formula cannot ask for a shape, or for another one: it is traced once for tensors of all shapes"
VALUES = ("a formula cannot ask for the value of an element, as `if x > 0` and x.item() do: it is traced once for all values; "
          "write lucid.where(condition, a, b)")
