"""Forward mode: what operations do with dual arrays, the tangents of their results.

There is one rule for each kind of operation, and the gradient rule that stands beside it says the rest:

- linear ones (`LINEAR`: views, sums, joins, gathers, Fourier transforms …): the operation itself, of the tangents;
- products (`PRODUCTS`: linear in each operand): a product for each tangent;
- elementwise ones of real numbers: their derivative is diagonal, so the gradient rule applied to the tangent is the tangent;
- all others: the gradient rule is linear in the upstream gradient, and its own gradient by that, at the tangent, is the tangent
  (the double backward pass, of one operation).

An operation without a gradient rule has constant results, but for the fused gradients, which nothing differentiates: those
raise NotImplementedError.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _dtypes
from ..backends.elementwise import ROWS
from ..levels.lifted import Dual, Level, call, handlers
from ..levels.rules.basis import expanded
from ..tensor import wrap
from ..tensor.nodes import Leaf
from .engine import grad
from .grad_mode import COMPOSED, GRAD, LEVELS
from .grad_mode import mode as grad_mode
from .op import by_kernel

LINEAR = frozenset((
    "reshape transpose broadcast_to diagonal diagonal_scatter split unbind windows windows_grad as_strided real imag "
    "view_as_real view_as_complex getitem sum mean cumsum copy contiguous flip roll tril triu fft_c2c fft_r2c fft_c2r neg "
    "conj cast scatter_new avg_pool2d avg_pool2d_grad adaptive_avg_pool2d adaptive_avg_pool2d_grad resample resample_grad "
    "unfold fold pad_grad stack concatenate assemble join_parts index_select index_select_grad gather gather_grad embedding "
    "embedding_grad max_pool2d_grad max_pool2d_gather max_unpool2d deg2rad rad2deg").split())
#: With how many operands each is a product; a bias, the third one, is added.
PRODUCTS = {"mul": 2, "matmul": 2, "dot": 2, "kron": 2, "cross": 2, "linear": 2, "conv2d": 2, "conv3d": 2, "conv2d_grad_input": 2,
            "conv3d_grad_input": 2, "conv2d_grad_weight": 2, "conv3d_grad_weight": 2}
#: Products of the operands at these places.
PRODUCTS_AT = {"csr_matmul": (0, 3), "csr_sampled": (0, 1)}
#: Without a gradient rule, and with results that do not change with the operands, or nobody's.
CONSTANT = frozenset((
    "fill sign ceil floor trunc round floor_divide trunc_divide heaviside nextafter argmax argmin argsort searchsorted "
    "count_bins bincount check_bounds nonzero poisson_quantile dropout empty full nearly_singular bag_edges bag_indices "
    "check_nonzero bag_lengths lu_permutation fractional_max_indices lexsort").split())


def dual(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """The results of operation `name` with their tangents, where some arguments are dual at `level`, the outermost."""
    out = attributes.get("out")
    if out is not None:
        attributes = {key: value for key, value in attributes.items() if key != "out"}
    if name in ROWS and len(arrays) > ROWS[name].arrays and hasattr(arrays[-1], "dtype"):
        *arrays, out = arrays  # the kernels of arithmetic take it by position
    attributes = {key: _without(level, value) for key, value in attributes.items()}
    values = [_without(level, array) for array in arrays]
    tangents = [array.tangent if _is_at(level, array) else None for array in arrays]
    results = call(name, values, attributes)
    several = results.__class__ is tuple
    outputs = results if several else (results,)
    if any(tangent is not None for tangent in tangents) and any(_is_smooth(output) for output in outputs):
        found = _tangents(name, values, tangents, attributes, outputs)
        swapped = any(array.swapped for array in arrays if _is_at(level, array))
        outputs = tuple([output if tangent is None else Dual(level, output, tangent, swapped)
                         for output, tangent in zip(outputs, found, strict=True)])
        if name in _VIEWS:
            _connect(arrays[0], outputs)
    if out is not None:
        targets = out if out.__class__ is tuple else (out,)
        outputs = tuple([new if target is None else _put(level, target, new)
                         for target, new in zip(targets, outputs, strict=True)])
    return outputs if several else outputs[0]


handlers[Dual] = dual

_VIEWS = frozenset("reshape transpose broadcast_to diagonal split unbind windows as_strided real imag getitem view_as_real "
                   "view_as_complex".split())


def _is_at(level: Level, array: Any) -> bool:
    return array.__class__ is Dual and array.level is level


def _without(level: Level, value: Any) -> Any:
    """The value of a dual array, also in tuples: indices have no tangents."""
    if value.__class__ is Dual and value.level is level:
        return value.value
    if value.__class__ is tuple or value.__class__ is list:
        return value.__class__(_without(level, item) for item in value)
    return value


def _is_smooth(output: Any) -> bool:
    return hasattr(output, "dtype") and _dtypes.is_differentiable(output.dtype)


def _connect(source: Dual, outputs: Sequence[Any]) -> None:
    """Note that dual views are over the memory of `source`, if both of their parts are."""
    for view in outputs:
        if view.__class__ is Dual and all(_owner(a) is _owner(b) for a, b in (
                (view.value, source.value), (view.tangent, source.tangent))):
            view.base = source if source.base is None else source.base


def _owner(array: Any) -> Any:
    return array if array.base is None else array.base


def _put(level: Level, target: Any, new: Any) -> Any:
    """Copy a result into `target`, with its tangent."""
    if not _is_at(level, target):
        if _is_at(level, new):
            raise RuntimeError("forward mode: a tensor without a tangent is written in place with a result that has one, and "
                               "is a view or shared with others. Write out of place, or give it a tangent by make_dual first.")
        return call("copy", (new,), {"out": target})
    call("copy", (_without(level, new),), {"out": target.value})
    if _is_at(level, new):
        call("copy", (new.tangent,), {"out": target.tangent})
    else:
        call("fill", (target.tangent,), {"value": 0, "out": target.tangent})
    return target


def _sum(parts: Sequence[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = call("add", (total, part), {})
    return total


def _tangents(name: str, values: Sequence[Any], tangents: Sequence[Any], attributes: dict[str, Any], outputs: Sequence[Any]
              ) -> Sequence[Any]:
    """The tangents of the outputs, None of constant ones."""
    if name in CONSTANT:
        return [None] * len(outputs)
    if name in LINEAR:
        found = _linear(name, values, tangents, attributes)
        return found if found.__class__ is tuple else (found,)
    if name in PRODUCTS or name in PRODUCTS_AT:
        return (_product(name, values, tangents, attributes, outputs[0]),)
    op = by_kernel.get(name)
    if op is None:
        if name in ROWS:  # comparisons, and steps
            return [None] * len(outputs)
        raise NotImplementedError(f"op '{name}' has no rule for forward mode")
    if name in ROWS and len(outputs) == 1 and all(
            value.dtype.kind in "fV" for value in (*values, *outputs) if hasattr(value, "dtype")):
        return (_diagonal(op, values, tangents, attributes, outputs[0]),)
    return _by_transposition(op, values, tangents, attributes, outputs)


def _linear(name: str, values: Sequence[Any], tangents: Sequence[Any], attributes: dict[str, Any]) -> Any:
    given = []
    for value, tangent in zip(values, tangents, strict=True):
        if tangent is not None:
            given.append(tangent)
        elif _is_smooth(value):
            given.append(call("fill", (value,), {"value": 0}))
        else:
            given.append(value)  # indices
    return call(name, given, attributes)


def _product(name: str, values: Sequence[Any], tangents: Sequence[Any], attributes: dict[str, Any], output: Any) -> Any:
    factors = PRODUCTS_AT.get(name) or range(PRODUCTS[name])
    bias, to_bias = (values[2], tangents[2]) if name in PRODUCTS and len(values) > len(factors) else (None, None)
    parts = []
    for place in factors:
        if tangents[place] is not None:
            given = list(values)
            given[place] = tangents[place]
            if bias is not None:
                given[2] = None
            parts.append(call(name, given, attributes))
    if to_bias is not None:
        tail = (1,) * (output.ndim - 2) if name.startswith("conv") else ()
        shaped = call("reshape", (to_bias,), {"shape": (*to_bias.shape, *tail)}) if tail else to_bias
        parts.append(expanded(shaped, output.shape))
    total = _sum(parts)
    return total if total.dtype == output.dtype else call("cast", (total,), {"dtype": output.dtype})


class _Recording:
    """A context in which the gradient rules of one operation run: on lifted arrays, recorded if they are to be differentiated."""

    def __init__(self, on: int) -> None:
        self._on = on

    def __enter__(self) -> None:
        flags = grad_mode.get()
        self._token = grad_mode.set((flags | self._on | LEVELS | COMPOSED) if self._on else (flags & ~GRAD | LEVELS | COMPOSED))

    def __exit__(self, *exception: Any) -> None:
        grad_mode.reset(self._token)


def _diagonal(op: Any, values: Sequence[Any], tangents: Sequence[Any], attributes: dict[str, Any], output: Any) -> Any:
    """The sum of what the gradient rule gives for each operand at its tangent, all in the shape of the result."""
    full = [expanded(value, output.shape) if hasattr(value, "dtype") else value for value in values]
    tensors = [wrap(value) if hasattr(value, "dtype") else value for value in full]
    y = wrap(output)
    parts = []
    with _Recording(0):
        for place, tangent in enumerate(tangents):
            if tangent is None:
                continue
            needs = [number == place for number in range(len(values))]
            upstream = tangent if tangent.dtype == output.dtype else call("cast", (tangent,), {"dtype": output.dtype})
            vjp = op.rule(needs, *tensors, **attributes)
            found = vjp(wrap(expanded(upstream, output.shape)), y if op.saved_outputs else None)[place]
            if found is not None:
                parts.append(found._array)
    if not parts:
        return None
    return _sum(parts)


def _by_transposition(op: Any, values: Sequence[Any], tangents: Sequence[Any], attributes: dict[str, Any], outputs: Sequence[Any]
                      ) -> Sequence[Any]:
    tensors = [wrap(value) if hasattr(value, "dtype") else value for value in values]
    if op.inputs_seen is not None:
        if any(tangent is not None for tangent in tangents[op.inputs_seen:]):
            raise NotImplementedError(f"op '{op.name}' has no rule for the tangent of its state")
        tensors, tangents = tensors[:op.inputs_seen], tangents[:op.inputs_seen]
    needs = [tangent is not None for tangent in tangents] + [False] * (len(values) - len(tangents))
    smooth = op.outputs if op.outputs is not None else range(len(outputs))
    places = [place for place in smooth if outputs[place] is not None and _is_smooth(outputs[place])]
    found: list[Any] = [None] * len(outputs)
    with _Recording(GRAD):
        vjp = op.rule(needs, *tensors, **attributes)
        kept: Any = None
        if op.saved_outputs is True:
            kept = wrap(outputs[0])
        elif op.saved_outputs:
            kept = tuple([None if outputs[place] is None else wrap(outputs[place]) for place in op.saved_outputs])
        seeds = {}
        for place in places:
            # Not zeros: a rule may take logarithms of it, as that of `logcumsumexp` does.
            seed = wrap(call("fill", (outputs[place],), {"value": 1}))
            seed._node = Leaf(seed)
            seeds[place] = seed
        if len(smooth) == 1:
            upstream: Any = seeds[places[0]]
        else:
            upstream = [seeds.get(place) for place in range(max(places) + 1)]
        products = vjp(upstream, kept)
        if any(tangent is not None and product is None for product, tangent in zip(products, tangents, strict=False)):
            raise NotImplementedError(f"op '{op.name}' has no rule for the tangent of one of its operands")
        pairs = [(product, tangent) for product, tangent in zip(products, tangents, strict=False)
                 if product is not None and tangent is not None and product._node is not None]
        if pairs:
            results = grad([product for product, _ in pairs],
                           list(seeds.values()), [_cotangent(tangent, product) for product, tangent in pairs], allow_unused=True)
            for place, result in zip(seeds, results, strict=True):
                found[place] = None if result is None else result._array
    return found


def _cotangent(tangent: Any, product: Any) -> Any:
    array = product._array
    return wrap(tangent if tangent.dtype == array.dtype else call("cast", (tangent,), {"dtype": array.dtype}))
