"""Adam for sparse gradients: only the rows of a gradient, and of the moments, are read and written."""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ..autograd.grad_mode import enable_grad, no_grad
from ..ops.creation.creation import zeros_like
from ..tensor import Tensor, wrap
from .optimizer import Group, Optimizer


class SparseAdam(Optimizer):
    """Adam for sparse gradients, as `torch.optim.SparseAdam`: the moments of a row change only in steps that have its gradient.

    State of a parameter: 'step', a number, and 'exp_avg' and 'exp_avg_sq' like the parameter. Raises ValueError for options out
    of range and for parameters that are sparse or complex; `step` RuntimeError for a dense gradient.

    >>> table = nn.Embedding.from_pretrained(lucid.ones(3, 1), freeze=False, sparse=True)
    >>> optimizer = lucid.optim.SparseAdam(table.parameters(), lr=0.1)
    >>> table(lucid.tensor([1])).sum().backward()
    >>> optimizer.step()
    >>> table.weight.detach().flatten()
    Tensor([1.0, 0.9, 1.0], requires_grad=False)
    """

    _takes_sparse = True
    _elementwise_state = ("exp_avg", "exp_avg_sq")

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, maximize: bool = False) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for number, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {number}: {beta}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        for kind, why in (("Sparse", "SparseAdam requires dense parameter tensors"),
                          ("Complex", "SparseAdam does not support complex parameters")):
            found = [[number, place] for number, group in enumerate(self.param_groups)
                     for place, param in enumerate(group["params"])
                     if (param.is_complex() if kind == "Complex" else param.layout.name != "strided")]
            if found:
                raise ValueError(f"{kind} params at indices {found}: {why}")

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take a step with the parameters that have gradients; returns what `closure`, if given, returns."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group, pairs in self._ready():
            for _, grad in pairs:
                if not grad.is_sparse:
                    raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
            for param, grad in pairs:
                self._update(param, -grad if group.get("maximize") else grad, group)
        return loss

    def _update(self, param: Tensor, grad: Tensor, group: Group) -> None:
        from ..ops.sparse.values import add_into  # with the first sparse gradient

        state = self.state[param]
        if not state:
            state.update(step=0, exp_avg=zeros_like(param), exp_avg_sq=zeros_like(param))
        state["step"] += 1
        grad = grad.coalesce()
        values, places = grad.values(), grad._array
        if not values.numel():
            return
        beta1, beta2 = group["betas"]
        moments = []
        for name, new, beta in (("exp_avg", values, beta1), ("exp_avg_sq", values * values, beta2)):
            old = state[name].sparse_mask(grad).values()
            change = (new - old) * (1 - beta)
            add_into(state[name], wrap(places.with_values(change._array)))
            moments.append(old + change)
        mean, square = moments
        rate = float(group["lr"]) * math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
        add_into(param, wrap(places.with_values((mean / (square.sqrt() + group["eps"]))._array)), -rate)
