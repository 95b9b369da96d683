"""Adam: steps scaled by running estimates of the first and second moment of the gradient."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .. import _dtypes
from ..autograd.grad_mode import enable_grad
from ..ops.creation import tensor, zeros_like
from ..tensor import Tensor
from ._multi_tensor import step_together
from .optimizer import Optimizer, check_options


class Adam(Optimizer):
    """Adam, with `decoupled_weight_decay` AdamW, with `amsgrad` AMSGrad, as `torch.optim.Adam`.

    State of a parameter: 'step', a 0-d float32 tensor on the CPU, and 'exp_avg', 'exp_avg_sq' and with `amsgrad`
    'max_exp_avg_sq' like the parameter. `lr` and `betas` may be tensors of one element. `foreach`, `fused` and `capturable`
    are accepted and change nothing: a step is one kernel for all parameters anyway.

    Raises ValueError for options out of range.
    """

    _elementwise_state = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")

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
        if not lr >= 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps >= 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for index in (0, 1):
            if not 0.0 <= float(betas[index]) < 1.0:
                raise ValueError(f"Invalid beta parameter at index {index}: {betas[index]}")
        if not weight_decay >= 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        kinds = (float, Tensor)
        if not any(isinstance(betas[0], kind) and isinstance(betas[1], kind) for kind in kinds):
            raise ValueError("betas must be either both floats or both Tensors")
        check_options(fused, foreach, differentiable)
        super().__init__(params, {
            "lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable, "differentiable": differentiable,
            "fused": fused, "decoupled_weight_decay": decoupled_weight_decay})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # checkpoints of older versions lack some options and count steps as numbers
            for option, value in (("amsgrad", False), ("maximize", False), ("foreach", None), ("capturable", False),
                                  ("differentiable", False), ("decoupled_weight_decay", False), ("fused", None)):
                group.setdefault(option, value)
            for param in group["params"]:
                entries = self.state.get(param)
                if entries and not isinstance(entries["step"], Tensor):
                    entries["step"] = tensor(float(entries["step"]), dtype=_dtypes.float32, device="cpu")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take a step against the gradients (along them with `maximize`); returns what `closure`, if given, returns.

        Raises RuntimeError, with nothing changed, if a gradient does not fit its parameter.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group, pairs in self._ready():
            beta1, beta2 = group["betas"]
            amsgrad = group["amsgrad"]
            options = {"lr": float(group["lr"]), "beta1": float(beta1), "beta2": float(beta2), "eps": group["eps"],
                       "weight_decay": float(group["weight_decay"]), "amsgrad": amsgrad, "maximize": group["maximize"],
                       "decoupled_weight_decay": group["decoupled_weight_decay"]}
            names = self._elementwise_state[:3 if amsgrad else 2]
            rows, steps = [], []
            written: list[Tensor] = []
            for param, grad in pairs:
                state = self.state[param]
                if not state:
                    self._begin(param, state, names)
                moments = [state[name] for name in names]
                counter = state["step"]._array
                count = counter.item() + 1
                counter.fill(count)
                rows.append((param._array, grad._array, *[moment._array for moment in moments]))
                steps.append(count)
                written += (param, *moments)
            step_together("adam", rows, {"steps": steps}, options, written)
        return loss

    def _begin(self, param: Tensor, state: dict[str, Any], names: tuple[str, ...]) -> None:
        """The state of a parameter before its first step."""
        state["step"] = tensor(0.0, dtype=_dtypes.float32, device="cpu")
        for name in names:
            state[name] = zeros_like(param)
