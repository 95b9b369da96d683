"""Adafactor: Adam whose second moment of a matrix is kept as one row and one column."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ops.creation.creation import zeros_like
from ..tensor import Tensor
from ._composed import ComposedOptimizer, State, check_lr, count, new_step
from .optimizer import Group

_EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


class Adafactor(ComposedOptimizer):
    """Adafactor, as `torch.optim.Adafactor`. State: 'step', and 'row_var' and 'col_var', or 'variance' for a parameter of less
    than two dimensions.

    Source: Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", 2018. Raises ValueError for
    options out of range and RuntimeError, at the step, for complex parameters.

    >>> w = nn.Parameter(lucid.ones(2, 3))
    >>> optimizer = lucid.optim.Adafactor([w])
    >>> (w ** 2).sum().backward()
    >>> optimizer.step()
    >>> bool((w < 1).all())
    True
    """

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-2, beta2_decay: float = -0.8,
                 eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
                 foreach: bool | None = None, maximize: bool = False) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
                                  "foreach": foreach, "maximize": maximize})

    def _begin(self, param: Tensor, group: Group) -> State:
        if param.ndim < 2:
            return {"step": new_step(), "variance": zeros_like(param)}
        *lead, rows, columns = param.shape
        return {"step": new_step(), "row_var": param.new_zeros((*lead, rows, 1)), "col_var": param.new_zeros((*lead, 1, columns))}

    def _update_parts(self, param: Tensor, grad: Tensor, state: State, group: Group) -> None:
        raise RuntimeError("Adafactor does not support complex parameters")

    def _update(self, param: Tensor, grad: Tensor, state: State, group: Group) -> None:
        step, lr, (least, smallest) = count(state), float(group["lr"]), group["eps"]
        if least is None:
            least = _EPSILON[param.dtype.name]
        share = step ** group["beta2_decay"]
        rate = max(smallest, _root_mean_square(param)) * min(lr, step**-0.5)
        if group["weight_decay"] != 0:
            param.mul_(1 - lr * group["weight_decay"])
        square = grad * grad
        if param.ndim < 2:
            variance = state["variance"].lerp_(square, share)
        else:
            rows = state["row_var"].lerp_(square.mean(-1, keepdim=True), share)
            columns = state["col_var"].lerp_(square.mean(-2, keepdim=True), share)
            variance = rows @ columns / rows.mean(-2, keepdim=True).clamp(min=least)
        update = variance.clamp(min=least * least).rsqrt() * grad
        param.sub_(update, alpha=rate / max(1.0, _root_mean_square(update) / group["d"]))


def _root_mean_square(x: Tensor) -> float:
    return float((x * x).sum().item()) ** 0.5 / x.numel() ** 0.5 if x.numel() else 0.0
