"""L-BFGS: a quasi-Newton method that remembers the last few steps in the place of a Hessian."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..autograd.grad_mode import enable_grad, no_grad
from ..ops.manipulation.joining import cat
from ..tensor import Tensor
from ._composed import check_lr
from .optimizer import Optimizer


class LBFGS(Optimizer):
    """L-BFGS, as `torch.optim.LBFGS`: up to `max_iter` iterations in a step, each with one evaluation of the closure or, with
    ``line_search_fn="strong_wolfe"``, as many as the search needs, `max_eval` in all.

    State, kept with the first parameter: 'func_evals', 'n_iter', 'd', 't', 'old_dirs', 'old_stps', 'ro', 'H_diag',
    'prev_flat_grad', 'prev_loss' and 'al'. All parameters belong to one group and one device.

    Source: Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", 1989. Raises ValueError for a
    negative `lr` and for several groups.

    >>> w = nn.Parameter(lucid.tensor([3.0]))
    >>> optimizer = lucid.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure), w.detach()
    (Tensor(4.0, requires_grad=True), Tensor([1.0], requires_grad=False))
    """

    def __init__(self, params: Iterable[Any], lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
                 line_search_fn: str | None = None) -> None:
        check_lr(lr)
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]  # it needs one, as in PyTorch
        """Minimise what `closure` computes, and return its value before the step.

        `closure` clears the gradients, computes the loss and its gradients, and returns the loss. Raises RuntimeError for a
        line search of another name.
        """
        group = self.param_groups[0]
        lr, search = float(group["lr"]), group["line_search_fn"]
        if search not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        closure = enable_grad()(closure)
        state = self.state[group["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss, grad, evaluations = float(first_loss), self._flat_grad(), 1
        state["func_evals"] += 1
        if grad.abs().max() <= group["tolerance_grad"]:
            return first_loss

        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            d = state["d"] = self._direction(grad, state, group["history_size"])
            if state.get("prev_flat_grad") is None:
                state["prev_flat_grad"] = grad.clone()
            else:
                state["prev_flat_grad"].copy_(grad)
            state["prev_loss"] = loss
            first: Any = 1.0 / grad.abs().sum()
            t: Any = min(1.0, first) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(d)
            state["t"] = t
            if slope > -group["tolerance_change"]:
                break
            taken = 0
            if search is not None:
                point, taken = self._search(closure, _Point(0, loss, grad, slope), t, d, group, evaluations)
                loss, grad, t = point.loss, point.grad, point.t
            self._move(t, d)
            state["t"] = t
            if search is None and iteration != group["max_iter"]:  # after the last iteration nobody needs the loss
                loss, grad, taken = float(closure()), self._flat_grad(), 1
            evaluations += taken
            state["func_evals"] += taken
            if (evaluations >= group["max_eval"] or grad.abs().max() <= group["tolerance_grad"]
                    or (d * t).abs().max() <= group["tolerance_change"]
                    or abs(loss - state["prev_loss"]) < group["tolerance_change"]):
                break
        return first_loss

    def _direction(self, grad: Tensor, state: dict[str, Any], history_size: int) -> Tensor:
        """Minus the gradient, times the inverse Hessian as far as the remembered steps tell it."""
        if state["n_iter"] == 1:
            state.update({"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1})
            return -grad
        slopes, steps, weights = state["old_dirs"], state["old_stps"], state["ro"]
        change, step = grad - state["prev_flat_grad"], state["d"] * state["t"]
        curvature = change.dot(step)
        if curvature > 1e-10:
            if len(slopes) == history_size:
                for history in (slopes, steps, weights):
                    history.pop(0)
            slopes.append(change)
            steps.append(step)
            weights.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        shares = state.setdefault("al", [None] * history_size)
        d = -grad
        for i in reversed(range(len(slopes))):
            shares[i] = steps[i].dot(d) * weights[i]
            d.sub_(slopes[i] * shares[i])
        d = d * state["H_diag"]
        for i in range(len(slopes)):
            d.add_(steps[i] * (shares[i] - slopes[i].dot(d) * weights[i]))
        return d

    def _search(self, closure: Callable[[], Any], start: _Point, t: Any, d: Tensor, group: dict[str, Any], evaluations: int
                ) -> tuple[_Point, int]:
        """The line search from `start` along `d`; the parameters stay where they are."""
        here = [param.clone() for param in group["params"]]

        def evaluate(t: Any) -> _Point:
            self._move(t, d)
            loss, grad = float(closure()), self._flat_grad()
            for param, value in zip(group["params"], here, strict=True):
                param.copy_(value)
            return _Point(t, loss, grad, grad.dot(d))

        return _wolfe_search(evaluate, start, t, d.abs().max(), group["tolerance_change"], group["max_eval"] - evaluations)

    def _flat_grad(self) -> Tensor:
        """The gradients of all parameters in one vector, zeros for those without one; of complex ones both parts."""
        parts = []
        for param in self.param_groups[0]["params"]:
            grad = param.new_zeros(param.shape) if param.grad is None else param.grad.to_dense()
            parts.append(_pairs(grad.reshape(-1)) if param.is_complex() else grad.reshape(-1))
        return cat(parts, 0)

    def _move(self, t: Any, d: Tensor) -> None:
        """Add `t` times the direction to the parameters."""
        start = 0
        for param in self.param_groups[0]["params"]:
            size = param.numel() * (2 if param.is_complex() else 1)
            part = d[start:start + size] * t
            if param.is_complex():
                pairs = part.reshape(-1, 2)
                part = pairs[:, 0] + pairs[:, 1] * 1j
            param.add_(part.reshape(param.shape))
            start += size


def _pairs(x: Tensor) -> Tensor:
    """A complex vector as its real and imaginary parts in turn."""
    return cat([x.real.reshape(-1, 1), x.imag.reshape(-1, 1)], 1).reshape(-1)


class _Point(NamedTuple):
    """A point on the line: its distance, the loss, the gradient and the derivative along the line there."""

    t: Any
    loss: float
    grad: Tensor
    slope: Any


def _wolfe_search(evaluate: Callable[[Any], _Point], start: _Point, t: Any, longest: Tensor, tolerance: float, most: int,
                  c1: float = 1e-4, c2: float = 0.9) -> tuple[_Point, int]:
    """A point where the loss has fallen enough and the slope is flat enough, and the evaluations that it took.

    The search begins at distance `t`, first brackets such a point, then narrows the bracket until it is shorter than
    `tolerance` (times `longest`, the largest element of the direction) or `most` evaluations more have been made.

    Source: Nocedal and Wright, "Numerical Optimization", 2006, section 3.5; rules for the trial points as in PyTorch.
    """
    def too_high(point: _Point) -> bool:
        return bool(point.loss > start.loss + c1 * point.t * start.slope)

    def flat(point: _Point) -> bool:
        return bool(abs(point.slope) <= -c2 * start.slope)

    previous, point = start, evaluate(t)
    tries = 0
    while tries < most:
        if too_high(point) or (tries > 1 and point.loss >= previous.loss):
            break
        if flat(point):
            return point, tries + 1
        if point.slope >= 0:
            break
        t = _interpolate(previous, point, point.t + 0.01 * (point.t - previous.t), point.t * 10)
        previous, point = point, evaluate(t)
        tries += 1
    else:
        previous = start

    ends = [previous, point]
    low = 0 if previous.loss <= point.loss else 1
    crept = False  # whether the last trial was close to an end
    while tries < most and abs(ends[1].t - ends[0].t) * longest >= tolerance:
        least, largest = min(ends[0].t, ends[1].t), max(ends[0].t, ends[1].t)
        t = _interpolate(ends[0], ends[1], least, largest)
        margin = 0.1 * (largest - least)
        close = bool(min(largest - t, t - least) < margin)
        if close and (crept or t >= largest or t <= least):
            t = largest - margin if abs(t - largest) < abs(t - least) else least + margin
            close = False
        crept = close
        point = evaluate(t)
        tries += 1
        if too_high(point) or point.loss >= ends[low].loss:
            ends[1 - low] = point
            low = 0 if ends[0].loss <= ends[1].loss else 1
            continue
        done = flat(point)
        if not done and point.slope * (ends[1 - low].t - ends[low].t) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = point
        if done:
            break
    return ends[low], tries + 1


def _interpolate(a: _Point, b: _Point, least: Any, largest: Any) -> Any:
    """Where the cubic through two points with their slopes has its minimum, within bounds; their middle if there is none."""
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (least + largest) / 2.0
    d2 = square.sqrt()
    if a.t <= b.t:
        best = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    else:
        best = a.t - (a.t - b.t) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2))
    return min(max(best, least), largest)
