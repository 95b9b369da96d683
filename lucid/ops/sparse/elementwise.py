"""Sums, products and functions that keep zeros. Sums of sparse tensors keep the places of both, products those that both have."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _dtypes
from ...autograd.grad_mode import no_grad
from ...autograd.op import Op, by_kernel
from ...autograd.sparse_rules import rule
from ...backends.sparse import CooArray
from ...tensor import Tensor, wrap
from ..manipulation.joining import cat
from .coalescing import added_up, coalesced, looked_up, numbered, places_of
from .layouts import to_sparse
from .parts import coordinates, is_sparse, recorded
from .values import assembled, stored

_KEEP_ZERO = """abs arcsin arcsinh arctan arctanh ceil deg2rad erf erfinv expm1 floor frac isinf isnan log1p
nan_to_num rad2deg relu round sgn sign signbit sin sinh sqrt square tan tanh trunc"""


def _on_values(name: str) -> Callable[..., Tensor]:
    def applied(input: Tensor, **attributes: Any) -> Tensor:
        source = coalesced(input)
        op = by_kernel.get(name) or Op(name)
        return assembled(op(stored(source), **attributes), source._array)

    return applied


for _name in _KEEP_ZERO.split():
    rule(_name)(_on_values(_name))


def _scaled(input: Tensor, factor: Any, compute: Callable[[Any, Any], Any]) -> Tensor:
    """``compute(values, factor)`` in the places of `input`, for a number or a tensor of one element."""
    if isinstance(factor, Tensor) and factor._node is not None:
        source = coalesced(input)
        return assembled(compute(stored(source), factor), source._array)
    with no_grad():
        array = input._array.with_values(compute(wrap(input._array.values), factor)._array)
    return recorded("scale", array, (input,), lambda g, y: (compute(g, factor),))


def is_number(value: Any) -> bool:
    """Whether `value` is a number or a dense tensor without dimensions."""
    return not isinstance(value, Tensor) or (value.ndim == 0 and not is_sparse(value))


def require_alike(name: str, a: Tensor, b: Tensor) -> None:
    """Raise RuntimeError unless the shapes, layouts and devices of two sparse tensors are the same."""
    if a.shape != b.shape:
        raise RuntimeError(f"{name}: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}")
    if a.layout is not b.layout:
        raise RuntimeError(f"{name}: expected both sparse tensors to have one layout, but got {a.layout} and {b.layout}")
    if a.device != b.device:
        raise RuntimeError(f"{name}: expected all tensors to be on the same device, but got {a.device} and {b.device}")
    if a._array.__class__ is CooArray and a._array.indices.shape[0] != b._array.indices.shape[0]:
        raise RuntimeError(f"{name}: expected 'self' and 'other' to have same number of sparse dimensions")


@rule("neg")
def _neg(input: Tensor) -> Tensor:
    return _scaled(input, -1, lambda values, _: -values)


@rule("add")
def add(input: Any, other: Any, alpha: Any = 1) -> Tensor:
    """``input + alpha * other`` with at least one sparse tensor."""
    if not is_sparse(other):
        if isinstance(other, Tensor) and other.ndim and input.layout.name != "sparse_coo":
            return add(other, input) if alpha == 1 else add(other * alpha, input)
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    if not is_sparse(input):
        return _onto_dense(input, other, alpha)
    require_alike("add", input, other)
    dtype = _dtypes.promote_types(input.dtype, other.dtype)
    input, other = input.to(dtype), other.to(dtype)
    layout = input.layout
    a, b = to_sparse(input)._array, to_sparse(other)._array
    with no_grad():
        values = wrap(b.values) if alpha == 1 else wrap(b.values) * alpha
        array = _joined(a, b, cat([wrap(a.values), values]))
        if layout is not input._array.sparse_layout or input._array.__class__ is not CooArray:
            array = to_sparse(wrap(array), layout=layout)._array
    return recorded("add", array, (input, other), lambda g, y: (g, g if alpha == 1 else g * alpha))


def _joined(a: CooArray, b: CooArray, values: Tensor) -> CooArray:
    """The places of both, of coalesced ones each once and in order, with `values` added up there."""
    indices = cat([wrap(a.indices), wrap(b.indices)], 1)
    if not (a.coalesced and b.coalesced) or not a.indices.shape[0]:
        return CooArray(indices._array, values._array, a.shape)
    lengths = a.shape[:a.indices.shape[0]]
    distinct, total = added_up(numbered(tuple(indices.unbind(0)), lengths), values)
    return CooArray(places_of(distinct, lengths)._array, total._array, a.shape, True)


def _onto_dense(input: Any, other: Tensor, alpha: Any) -> Tensor:
    """A dense tensor with the elements of a sparse one added."""
    if not isinstance(input, Tensor) or input.shape != other.shape:
        shape = list(input.shape) if isinstance(input, Tensor) else []
        raise RuntimeError(f"add: expected 'self' and 'other' to have same size, but got {shape} and {list(other.shape)}")
    array = other._array
    with no_grad():
        dtype = _dtypes.promote_types(input.dtype, other.dtype)
        values = wrap(array.values).to(dtype)
        values = values if alpha == 1 else values * alpha
        if not array.ndim or (array.__class__ is CooArray and not array.indices.shape[0]):
            total = input + values.sum(0)
        else:
            total = input.detach().to(dtype).index_put(coordinates(array), values, accumulate=True)
    return recorded("add", total._array, (input, other), lambda g, y: (g, g if alpha == 1 else g * alpha))


@rule("add_scaled")
def _add_scaled(input: Tensor, other: Tensor, *, alpha: Any) -> Tensor:
    return add(input, other, alpha)


@rule("sub")
def _sub(input: Any, other: Any) -> Tensor:
    return add(input, other, -1)


@rule("mul")
def mul(input: Any, other: Any) -> Tensor:
    """The product with at least one sparse tensor, which is sparse."""
    if is_number(other):
        return _scaled(input, other, lambda values, factor: values * factor)
    if is_number(input):
        return _scaled(other, input, lambda values, factor: values * factor)
    if is_sparse(input) and is_sparse(other):
        return _intersection(input, other)
    return _with_dense(input, other) if is_sparse(input) else _with_dense(other, input)


def _intersection(input: Tensor, other: Tensor) -> Tensor:
    require_alike("mul", input, other)
    layout, dtype = input.layout, _dtypes.promote_types(input.dtype, other.dtype)
    a, b = coalesced(to_sparse(input)).to(dtype), coalesced(to_sparse(other)).to(dtype)
    with no_grad():
        positions, found = looked_up(a._array, b._array)
        mine = found.nonzero().reshape(-1)
        its = positions[mine]
        indices = wrap(a._array.indices)[:, mine]
    places = CooArray(indices._array, a._array.values[:0], a._array.shape, True)
    return to_sparse(assembled(stored(a)[mine] * stored(b)[its], places), layout=layout)


def _with_dense(input: Tensor, other: Tensor) -> Tensor:
    source = coalesced(input)
    array = source._array
    if other.shape == input.shape:
        with no_grad():
            places = array.with_values((wrap(array.values) * other.detach()[coordinates(array)])._array)
        return recorded("mul", places, (source, other), lambda g, y: (g * other.conj(), g * source.conj()))
    return assembled(stored(source) * other.expand(input.shape)[coordinates(array)], array)


@rule("div")
def _div(input: Any, other: Any) -> Tensor:
    if not is_sparse(input) or not is_number(other):
        shape = list(other.shape) if isinstance(other, Tensor) else []
        raise RuntimeError(f"Sparse division requires a scalar or zero-dim dense tensor divisor (got shape {shape} for divisor)")
    return _scaled(input, other, lambda values, factor: values / factor)


@rule("power")
def _power(input: Any, exponent: Any) -> Tensor:
    if not is_sparse(input) or not is_number(exponent):
        raise NotImplementedError("op 'pow' has no rule for sparse exponents, nor for dense tensors as exponents of sparse ones")
    exponent = exponent.item() if isinstance(exponent, Tensor) else exponent
    if exponent == 0:
        raise RuntimeError("pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense")
    source = coalesced(input)
    return assembled(stored(source) ** exponent, source._array)


@rule("conj")
def _conj(input: Tensor) -> Tensor:
    array = input._array
    return recorded("conj", array.with_values(wrap(array.values).conj()._array), (input,), lambda g, y: (g.conj(),))
