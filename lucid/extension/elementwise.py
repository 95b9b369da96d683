"""Operations given by a formula: elementwise ones, and reductions of such."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lucid

from ..ops.fusion import fuse
from ..tensor import Tensor
from .formula import Formula
from .schema import Schema

_REDUCTIONS = {"sum": lucid.sum, "mean": lucid.mean, "prod": lucid.prod, "max": lucid.amax, "min": lucid.amin, "any": lucid.any,
               "all": lucid.all, "logsumexp": lucid.logsumexp}


class Elementwise:
    """An operation by a formula; `elementwise` makes it. Call it with tensors that broadcast, and with scalars by keyword."""

    def __init__(self, text: str, inputs: str | Sequence[str] | None, name: str, scalars: dict[str, Any]) -> None:
        formula = Formula(text)
        free = [label for label in formula.names if label not in scalars]
        given = free if inputs is None else inputs.split() if isinstance(inputs, str) else list(inputs)
        if unknown := [label for label in free if label not in given]:
            raise ValueError(f"{name}: '{unknown[0]}' in the formula is neither an input nor a scalar with a default")
        if not given:
            raise ValueError(f"{name}: the formula {text!r} has no input")
        outputs = ("y",) if len(formula.results) == 1 else tuple(f"y{number}" for number in range(len(formula.results)))
        self.name, self.formula = name, formula
        self.schema = Schema(name, tuple(given), outputs, scalars, frozenset(), frozenset())

        def compute(*values: Any) -> Any:
            results = formula(dict(zip((*given, *scalars), values, strict=True)))
            return results[0] if len(results) == 1 else results

        compute.__qualname__ = compute.__name__ = name
        self._compute = fuse(compute)

    def __repr__(self) -> str:
        return f"<elementwise {self.schema}: {self.formula.text}>"

    @property
    def _compiled_function(self) -> tuple[()]:
        """For `lucid.compile`: nothing here changes."""
        return ()

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        inputs, scalars = self.schema.bind(args, keywords)
        if not any(isinstance(value, Tensor) for value in inputs):
            raise TypeError(f"op '{self.name}' got no tensor")
        return self._compute(*inputs, *scalars.values())


def elementwise(formula: str, inputs: str | Sequence[str] | None = None, *, name: str = "elementwise", **scalars: Any
                ) -> Elementwise:
    """An elementwise operation: ``elementwise("x > 0 ? x : a * expm1(x)", a=1.0)`` is a function ``(x, *, a=1.0)`` of tensors.

    The formula has C's operators, and ``**``; names may be set before: ``"t = exp(-x); x * t, t"`` has two results. Its inputs
    are its names without a default, in the order in which they stand there, unless `inputs` says otherwise. It is compiled for
    both devices, and so are its gradients, of any order, which are derived (`lucid.fuse`); half precision is computed in float32.
    It broadcasts, runs on the device 'meta', in `vmap`, in other fused functions and in `lucid.compile`.

    >>> from lucid import extension as ext
    >>> celu = ext.elementwise("x > 0 ? x : a * expm1(x / a)", a=1.0, name="celu")
    >>> celu(lucid.tensor([-1.0, 2.0]), a=0.5)
    Tensor([-0.4323,  2.0000], requires_grad=False)
    """
    return Elementwise(formula, inputs, name, scalars)


class Reduction:
    """A reduction by formulas; `reduction` makes it. Call it with tensors, `dim` and `keepdim`, and with scalars by keyword."""

    def __init__(self, before: Elementwise, how: str, after: Elementwise | None) -> None:
        self.combine = None if how in _REDUCTIONS else _combining(before.name, how)
        if len(before.schema.outputs) > 1:
            raise ValueError(f"{before.name}: the formula of a reduction has one result")
        self.name, self.before, self.how, self.after = before.name, before, how, after
        self.schema = before.schema

    def __repr__(self) -> str:
        return f"<reduction {self.schema}: {self.how} of {self.before.formula.text}>"

    @property
    def _compiled_function(self) -> tuple[()]:
        """For `lucid.compile`: nothing here changes."""
        return ()

    def __call__(self, *args: Any, dim: int | Sequence[int] | None = None, keepdim: bool = False, **scalars: Any) -> Any:
        value = self.before(*args, **scalars)
        axes = tuple(range(value.ndim)) if dim is None else dim
        if self.combine is not None:
            result = _folded(self.combine, value, axes, keepdim)
        elif self.how == "prod":
            result = _product(value, axes, keepdim)
        elif not value.ndim:
            result = value if self.how not in ("any", "all") else value != 0
        else:
            result = _REDUCTIONS[self.how](value, axes, keepdim)
        return result if self.after is None else self.after(result, **scalars)


def _combining(name: str, formula: str) -> Elementwise:
    """The formula of two elements, `a` before `b`, that stands in the place of a reduction's name."""
    if formula.isidentifier():
        raise ValueError(f"{name}: there is no reduction {formula!r}; there are {', '.join(_REDUCTIONS)}, and formulas of a "
                         "and b, such as 'a + b'")
    return Elementwise(formula, "a b", f"{name}_combine", {})


def _folded(combine: Elementwise, value: Any, axes: int | Sequence[int], keepdim: bool) -> Any:
    """Neighbours are combined until one element is left: as many kernels as the length has binary digits."""
    places = sorted({axis % value.ndim for axis in ((axes,) if isinstance(axes, int) else axes)})
    kept = [axis for axis in range(value.ndim) if axis not in places]
    x = value.permute(*kept, *places).flatten(len(kept)) if places else value.unsqueeze(-1)
    if not x.shape[-1]:
        raise ValueError(f"{combine.name}: there is no element to reduce, shape {tuple(value.shape)}, dimensions {places}")
    while (length := x.shape[-1]) > 1:
        pairs = combine(x[..., 0:length - 1:2], x[..., 1:length:2])
        x = pairs if length % 2 == 0 else lucid.cat([pairs, x[..., -1:]], -1)
    return x.reshape([1 if axis in places else n for axis, n in enumerate(value.shape)]) if keepdim else x.squeeze(-1)


def _product(value: Any, axes: int | Sequence[int], keepdim: bool) -> Any:
    """`prod` takes one dimension at a time."""
    places = sorted({axis % value.ndim for axis in ((axes,) if isinstance(axes, int) else axes)}, reverse=True)
    for axis in places:
        value = lucid.prod(value, axis, keepdim)
    return value


def reduction(formula: str, how: str = "sum", after: str | None = None, inputs: str | Sequence[str] | None = None, *,
              name: str = "reduction", **scalars: Any) -> Reduction:
    """A reduction: ``reduction("x * x", "sum", "sqrt(r)")`` is a function ``(x, dim=None, keepdim=False)`` of tensors.

    `formula` is computed for each element, as by `elementwise`; `how` is one of sum, mean, prod, max, min, any, all and
    logsumexp, or an associative formula of two elements, `a` before `b`, such as ``"a + b + a * b"``; `after` is a formula of
    the reduced value `r`. The formulas are a kernel each, and the reduction is lucid's, or of a formula a kernel for each
    halving: the elements that `formula` gives are written to memory once. Gradients of any order are derived. Raises ValueError
    for another `how`, and where a formula has no element to reduce.

    >>> from lucid import extension as ext
    >>> length = ext.reduction("x * x", "sum", "sqrt(r)")
    >>> length(lucid.tensor([[3.0, 4.0], [5.0, 12.0]]), dim=1)
    Tensor([ 5.0, 13.0], requires_grad=False)
    >>> ext.reduction("x", "a + b + a * b")(lucid.tensor([1.0, 2.0, 3.0]))
    Tensor(23.0, requires_grad=False)
    """
    before = Elementwise(formula, inputs, name, scalars)
    if after is None:
        return Reduction(before, how, None)
    return Reduction(before, how, Elementwise(after, "r", name, scalars))
