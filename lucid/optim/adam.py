"""Adam: steps scaled by running estimates of the first and second moment of the gradient."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..ops.creation.creation import zeros_like
from ..ops.elementwise.arithmetic import maximum
from ..tensor import Tensor
from ._composed import (
    ComposedOptimizer,
    State,
    Tensors,
    check_lr,
    check_not_negative,
    count,
    decayed,
    new_number,
    take_step,
)
from ._multi_tensor import step_together
from .optimizer import Group, check_options


class Adam(ComposedOptimizer):
    """Adam, with `decoupled_weight_decay` AdamW, with `amsgrad` AMSGrad, as `torch.optim.Adam`.

    State of a parameter: 'step', a 0-d float32 tensor on the CPU, with `fused` or `capturable` where the parameter is, and
    'exp_avg', 'exp_avg_sq' and with `amsgrad` 'max_exp_avg_sq' like the parameter. `lr` and `betas` may be tensors of one
    element. `foreach` is accepted and changes nothing: a step is one kernel for all parameters anyway. A step with `capturable`
    may be captured (`write_options`). With `differentiable`, where it is composed of operations, parameters must not be leaves.

    Raises ValueError for options out of range.

    >>> w = nn.Parameter(lucid.tensor([3.0]))
    >>> optimizer = lucid.optim.Adam([w], lr=0.1)
    >>> for _ in range(100):
    ...     optimizer.zero_grad()
    ...     (w ** 2).sum().backward()
    ...     optimizer.step()
    >>> bool(w.abs() < 0.2)
    True
    """

    _sparse_refusal = "Adam does not support sparse gradients, please consider SparseAdam instead"
    _elementwise_state = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    _rule = "Adam"
    _rule_dtypes = "fdeE"

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-3,
                 betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
                 amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False, fused: bool | None = None, decoupled_weight_decay: bool = False) -> None:
        tensors = [("lr", lr), ("betas[0]", betas[0]), ("betas[1]", betas[1])]
        for name, value in tensors:
            if isinstance(value, Tensor):
                if foreach and not capturable:
                    raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
                if value.numel() != 1:
                    raise ValueError(f"Tensor {name} must be 1-element")
        check_adam_options(lr, betas, eps, weight_decay)
        kinds = (float, Tensor)
        if not any(isinstance(betas[0], kind) and isinstance(betas[1], kind) for kind in kinds):
            raise ValueError("betas must be either both floats or both Tensors")
        check_options(fused, foreach, differentiable)
        self._step_supports_amp_scaling = bool(fused)
        super().__init__(params, {
            "lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
            "fused": fused, "decoupled_weight_decay": decoupled_weight_decay})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("amsgrad", False)

    def _update_group(self, group: Group, pairs: Sequence[tuple[Tensor, Tensor]]) -> None:
        if self.defaults["differentiable"]:
            super()._update_group(group, pairs)
            return
        beta1, beta2 = group["betas"]
        amsgrad = group["amsgrad"]
        options = {"lr": float(group["lr"]), "beta1": float(beta1), "beta2": float(beta2), "eps": group["eps"],
                   "weight_decay": float(group["weight_decay"]), "amsgrad": amsgrad, "maximize": group["maximize"],
                   "decoupled_weight_decay": group["decoupled_weight_decay"]}
        rows, steps = [], []
        written: list[Tensor] = []
        for param, grad in pairs:
            state = self.state[param]
            if not state:
                state.update(self._begin(param, group))
            mean, square = state["exp_avg"], state["exp_avg_sq"]
            row = [param._array, grad._array, mean._array, square._array]
            written += (param, mean, square)
            if amsgrad:
                largest = state["max_exp_avg_sq"]
                row.append(largest._array)
                written.append(largest)
            rows.append(row)
            steps.append(count(state))
        step_together("adam", rows, {"steps": steps}, options, written)

    def _rule_options(self, group: Group) -> tuple[float, ...]:
        return (*map(float, group["betas"]), group["eps"], group["decoupled_weight_decay"], group["amsgrad"])

    def _moments(self, group: Group) -> tuple[str | None, ...]:
        return "exp_avg", "exp_avg_sq", "max_exp_avg_sq" if group["amsgrad"] else None

    def _begin(self, param: Tensor, group: Group) -> State:
        names = self._elementwise_state[:3 if group["amsgrad"] else 2]
        return {"step": new_number(param, group), **{name: zeros_like(param) for name in names}}

    def _update(self, param: Tensor, grad: Tensor, state: State, group: Group) -> None:
        """The step in operations that can be differentiated."""
        step, (beta1, beta2), lr = count(state), map(float, group["betas"]), float(group["lr"])
        mean, square, weight_decay = state["exp_avg"], state["exp_avg_sq"], float(group["weight_decay"])
        update_moments(grad, param, mean, square, 1 - lr * weight_decay, betas=(beta1, beta2), weight_decay=weight_decay,
                       decoupled_weight_decay=group["decoupled_weight_decay"])
        if group["amsgrad"]:
            square = state["max_exp_avg_sq"].copy_(maximum(state["max_exp_avg_sq"].clone(), square))
        root = square.sqrt() / (1 - beta2**step) ** 0.5 + group["eps"]
        param.sub_(mean / root, alpha=lr / (1 - beta1**step))


def adam(params: Tensors, grads: Tensors, exp_avgs: Tensors, exp_avg_sqs: Tensors, max_exp_avg_sqs: Tensors,
         state_steps: Tensors, foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
         fused: bool | None = None, grad_scale: Tensor | None = None, found_inf: Tensor | None = None,
         has_complex: bool = False, decoupled_weight_decay: bool = False, *, amsgrad: bool, beta1: float | Tensor,
         beta2: float | Tensor, lr: float | Tensor, weight_decay: float, eps: float, maximize: bool) -> None:
    """A step of `Adam` with lists of parameters, gradients and the state of each: 'exp_avg', 'exp_avg_sq', 'max_exp_avg_sq' and
    'step', all written in place.

    `foreach` and `has_complex` change nothing. Raises RuntimeError for counts of steps that are no tensors and gradients that do
    not fit.

    >>> w, step = lucid.ones(1), lucid.zeros(())
    >>> lucid.optim.adam.adam([w], [lucid.ones(1)], [lucid.zeros(1)], [lucid.zeros(1)], [], [step],
    ...     amsgrad=False, beta1=0.9, beta2=0.5, lr=0.5, weight_decay=0.0, eps=0.0, maximize=False)
    >>> w, step
    (Tensor([0.5], requires_grad=False), Tensor(1.0, requires_grad=False))
    """
    take_step(Adam, params, grads,
              {"exp_avg": exp_avgs, "exp_avg_sq": exp_avg_sqs, "max_exp_avg_sq": max_exp_avg_sqs, "step": state_steps},
              differentiable=differentiable, grad_scale=grad_scale, found_inf=found_inf, fused=fused, capturable=capturable,
              decoupled_weight_decay=decoupled_weight_decay, amsgrad=amsgrad, betas=(beta1, beta2), lr=lr,
              weight_decay=weight_decay, eps=eps, maximize=maximize)


def check_adam_options(lr: float | Tensor, betas: Sequence[float | Tensor], eps: float, weight_decay: float) -> None:
    """Raise ValueError that names the first option out of range: decay rates are in [0, 1), the others not negative."""
    check_lr(lr)
    check_not_negative(eps=eps)
    for index in (0, 1):
        if not 0.0 <= betas[index] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {betas[index]}")
    check_not_negative(weight_decay=weight_decay)


def update_moments(grad: Tensor, param: Tensor, mean: Tensor, square: Tensor, keep: float, *, betas: Sequence[float],
                   weight_decay: float, decoupled_weight_decay: bool) -> Tensor:
    """Take the gradient into the averages `mean` and `square`, in place; the gradient that they got. All have one shape.

    Weights decay before: `param` becomes its part `keep` if that is decoupled, else the gradient gets the L2 penalty.
    """
    if not decoupled_weight_decay:
        grad = decayed(grad, param, weight_decay)
    elif weight_decay != 0:
        param.mul_(keep)
    mean.lerp_(grad, 1 - betas[0])
    square.mul_(betas[1]).add_((1 - betas[1]) * grad * grad)
    return grad
