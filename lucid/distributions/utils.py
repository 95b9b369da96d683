"""What distributions share: parameters of one shape, probabilities and logits, values that are computed once."""
from __future__ import annotations

import functools
from collections.abc import Callable
from numbers import Number
from typing import Any, Generic, TypeVar

import lucid

from ..tensor import Tensor

__all__ = ["broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs", "probs_to_logits",
           "tril_matrix_to_vec", "vec_to_tril_matrix"]

euler_constant = 0.57721566490153286060
Real = Tensor | float
T = TypeVar("T")


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape; numbers get the dtype and device of the first tensor, or the default dtype.

    Raises ValueError for anything else.
    """
    if not all(isinstance(value, Tensor | Number) for value in values):
        raise ValueError("Input arguments must all be instances of Number, Tensor or objects implementing __torch_function__.")
    first = next((value for value in values if isinstance(value, Tensor)), None)
    like: dict[str, Any] = {"dtype": lucid.get_default_dtype()}
    if first is not None:
        like = {"dtype": first.dtype, "device": first.device}
    tensors = [value if isinstance(value, Tensor) else lucid.tensor(value, **like) for value in values]
    shape = tensors[0].shape
    if all(tensor.shape == shape for tensor in tensors):
        return tuple(tensors)
    return tuple(lucid.broadcast_tensors(*tensors))


def sum_rightmost(value: Any, dims: int) -> Any:
    """`value` summed over its last `dims` dimensions."""
    if dims == 0 or not isinstance(value, Tensor):
        return value
    return value.reshape((*value.shape[:-dims], -1)).sum(-1)


def standard_normal(shape: Any, like: Tensor) -> Tensor:
    """Normal numbers in the dtype and on the device of `like`."""
    return lucid.randn(shape, dtype=like.dtype, device=like.device)


def uniform(shape: Any, like: Tensor) -> Tensor:
    """Uniform numbers in [0, 1) in the dtype and on the device of `like`."""
    return lucid.rand(shape, dtype=like.dtype, device=like.device)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities: of independent events with `is_binary`, else of one out of the last dimension."""
    return lucid.sigmoid(logits) if is_binary else lucid.softmax(logits, dim=-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """`probs` inside (0, 1), by the eps of the dtype."""
    eps = lucid.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The inverse of `logits_to_probs`, finite for 0 and 1 too."""
    inside = clamp_probs(probs)
    return lucid.log(inside) - lucid.log1p(-inside) if is_binary else lucid.log(inside)


class lazy_property(Generic[T]):
    """A property that is computed when it is first asked for, also under `no_grad` with its graph, and kept in the instance."""

    def __init__(self, wrapped: Callable[[Any], T]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with lucid.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangles of a batch (..., D, D) row by row: vectors (..., D (D + 1) / 2), with `diag` 0."""
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"diag ({diag}) provided is outside [{-size}, {size - 1}].")
    rows, columns = lucid.tril_indices(size, size, diag, device=mat.device)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of `tril_matrix_to_vec`; zeros elsewhere. Raises ValueError for a length that no triangle has."""
    # With D rows the triangle has D (D + 1) / 2 elements, shifted by the diagonal.
    size = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if abs(round(size) - size) > 1e-9:
        raise ValueError(f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the lower triangular part "
                         "of a square D x D matrix.")
    side = round(size)
    rows, columns = lucid.tril_indices(side, side, diag, device=vec.device)
    places = (rows * side + columns).expand(vec.shape)
    flat = vec.new_zeros((*vec.shape[:-1], side * side)).scatter(-1, places, vec)
    return flat.reshape((*vec.shape[:-1], side, side))
