"""Views in new memory: `lucid.transpose_copy` and its kin, by PyTorch's names."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...backends.memory_format import contiguous_format
from ...tensor import Tensor
from .._out import accepts_out
from ..conversion import clone
from ..properties import detach
from . import broadcasting, complex, diagonals, permutation, shape, splitting, strides


def _sliced(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    index: Any = [slice(None)] * input.ndim
    index[dim] = slice(start, end, step)
    return input[tuple(index)]


def _part(name: str) -> Callable[[Tensor], Tensor]:
    return lambda input: getattr(input, name)()


#: A name without ``_copy``: the view, and the arguments of the example after a matrix of 2 x 2.
_VIEWS: dict[str, tuple[Callable[..., Any], str]] = {
    "alias": (lambda input: input, ""),
    "as_strided": (strides.as_strided, ", (4,), (1,)"),
    "detach": (detach, ""),
    "diagonal": (diagonals.diagonal, ""),
    "expand": (broadcasting.expand, ", (2, 2, 2)"),
    "permute": (permutation.permute, ", (1, 0)"),
    "select": (splitting.select, ", 0, 0"),
    "slice": (_sliced, ", 0, 0, 1"),
    "split": (splitting.split, ", 1"),
    "split_with_sizes": (splitting.split_with_sizes, ", (1, 1)"),
    "squeeze": (shape.squeeze, ""),
    "t": (permutation.t, ""),
    "transpose": (permutation.transpose, ", 0, 1"),
    "unbind": (splitting.unbind, ""),
    "unfold": (strides.unfold, ", 1, 2, 1"),
    "unsqueeze": (shape.unsqueeze, ", 0"),
    "view": (shape.view, ", (4,)"),
    "view_as_complex": (complex.view_as_complex, ""),
    "view_as_real": (complex.view_as_real, " + 0j"),
}
_SEVERAL = ("split", "split_with_sizes", "unbind")
_OF_SPARSE = {"indices": "to_sparse()", "values": "to_sparse()", "crow_indices": "to_sparse_csr()",
              "col_indices": "to_sparse_csr()", "ccol_indices": "to_sparse_csc()", "row_indices": "to_sparse_csc()"}


def _copying(name: str, view: Callable[..., Any], arguments: str) -> Callable[..., Any]:
    def function(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        result = view(input, *args, **kwargs)
        if isinstance(result, tuple):
            return tuple(clone(part, memory_format=contiguous_format) for part in result)
        return clone(result, memory_format=contiguous_format)

    function.__name__ = function.__qualname__ = f"{name}_copy"
    function.__annotations__["return"] = "tuple[Tensor, ...]" if name in _SEVERAL else "Tensor"
    function.__doc__ = f"""The tensor{'s' * (name in _SEVERAL)} of `{name}` in new memory, row-major, or in `out`.

    >>> x = lucid.ones(2, 2)
    >>> lucid.{name}_copy(x{arguments}){'[0]' * (name in _SEVERAL)}.data_ptr() == x.data_ptr()
    False
    """
    return accepts_out(function)


def _copying_part(name: str, conversion: str) -> Callable[..., Tensor]:
    def function(input: Tensor) -> Tensor:
        return clone(getattr(input, name)())

    function.__name__ = function.__qualname__ = f"{name}_copy"
    function.__doc__ = f"""The tensor of `Tensor.{name}`, a part of a sparse tensor, in new memory, or in `out`.

    >>> x = lucid.eye(2).{conversion}
    >>> lucid.equal(lucid.{name}_copy(x), x.{name}())
    True
    """
    return accepts_out(function)


FUNCTIONS = {f"{name}_copy": _copying(name, *row) for name, row in _VIEWS.items()}
FUNCTIONS |= {f"{name}_copy": _copying_part(name, conversion) for name, conversion in _OF_SPARSE.items()}
globals().update(FUNCTIONS)
