"""Updates of large parameters in one pass over memory: their operations, traced once, as a formula that writes in place."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._writers import writes
from ..autograd.grad_mode import is_grad_enabled
from ..autograd.inplace import bump_all
from ..backends import run
from ..ops.creation.creation import tensor
from ..ops.fusion import Formula, Kind
from ..tensor import Tensor

#: Elements. Below, the operations one by one take as long, and nothing needs to be compiled.
FUSED_FROM = 1 << 14
_MOST_FORMULAS = 256  # of options that change at each step, a formula is traced each time
_formulas: dict[Any, Formula] = {}


@writes("targets")
def update(move: Callable[..., None], grad: Tensor, written: Sequence[Tensor | None], scalars: Sequence[float],
           options: dict[str, Any]) -> None:
    """``move(grad, *written, *scalars, **options)``, which writes tensors of one shape in place by elementwise operations.

    Of large tensors it is a formula for each `options`; `scalars` may change with each step.
    """
    dtype: Any = grad.dtype
    # A step with `differentiable` is recorded. Half precision is rounded by each operation, as in PyTorch: a formula rounds once.
    if grad._array.size < FUSED_FROM or is_grad_enabled() or dtype.itemsize == 2:
        move(grad, *written, *scalars, **options)
        return
    targets, present = [target for target in written if target is not None], [target is not None for target in written]
    key = (move, dtype.num, *present, repr(options))  # some may be lists
    formula = _formulas.get(key)
    if formula is None:
        if len(_formulas) >= _MOST_FORMULAS:
            _formulas.clear()
        kinds = [(dtype, True)] * (1 + len(targets)) + [(dtype, False)] * len(scalars)
        formula = _formulas[key] = _trace(move, present, options, kinds)
    operands = [tensor(scalar, dtype=dtype, device=grad.device)._array for scalar in scalars]
    arrays = [target._array for target in targets]
    out = tuple(arrays) if len(arrays) > 1 else arrays[0]
    run("fused", [grad._array, *arrays, *operands], {"program": formula.program, "out": out})
    bump_all(targets)


def _trace(move: Callable[..., None], present: Sequence[bool], options: dict[str, Any], kinds: Sequence[Kind]) -> Formula:
    """The formula of the values that `move` leaves in what it writes."""
    count = sum(present)

    def values(grad: Tensor, *symbols: Tensor) -> list[Tensor]:
        targets = [symbol.clone() for symbol in symbols[:count]]
        written_targets = iter(targets)
        move(grad, *[next(written_targets) if there else None for there in present], *symbols[count:], **options)
        return targets

    return Formula(move.__name__, values, kinds)
