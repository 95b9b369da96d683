"""Normalisations and losses of classes."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lifted import Level, call
from .basis import at, inner, lift, merged, moved, new_rules, reshaped, spread, unmerged

RULES, rule = new_rules()


def _scaled(level: Level, y: Any, weight: Any, bias: Any, lead: int, tail: int) -> Any:
    """``y * weight + bias`` for parameters of dimensions after `lead` others and before `tail` more."""
    for name, parameter in (("mul", weight), ("add", bias)):
        if parameter is not None:
            value = inner(level, parameter)
            own = (level.size, *(1,) * lead) if at(level, parameter) else ()
            y = call(name, (y, reshaped(value, (*own, *parameter.shape, *(1,) * tail))), {})
    return y


@rule("layer_norm rms_norm")
def layer_norm(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    x, *parameters = arrays
    if not any(at(level, parameter) for parameter in parameters):
        return lift(level, call(name, (x.value, *parameters), attributes))
    y, *statistics = call(name, (spread(level, x), *(None for _ in parameters)), attributes)
    weight, bias = (*parameters, None)[:2]
    y = _scaled(level, y, weight, bias, x.ndim - attributes["normalized_ndim"], 0)
    return lift(level, (y, *statistics))


@rule("group_norm")
def group_norm(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    x, weight, bias = arrays
    plain = not at(level, weight) and not at(level, bias)
    value = merged(spread(level, x))
    result = call(name, (value, weight, bias) if plain else (value, None, None), attributes)
    y, *statistics = [unmerged(level, part) for part in result]
    if not plain:
        y = _scaled(level, y, weight, bias, 1, x.ndim - 2)
    return lift(level, (y, *statistics))


@rule("batch_norm")
def batch_norm(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """The channels of all batch elements side by side."""
    x, weight, bias, mean, var = arrays[:5]  # and no counter: within levels it grows by an operation of its own
    value = moved(spread(level, x), 0, 1)
    value = reshaped(value, (value.shape[0], value.shape[1] * value.shape[2], *value.shape[3:]))
    running = [None if state is None else merged(spread(level, state)) for state in (mean, var)]
    y, *rest = call(name, (value, None, None, *running), attributes)
    y = moved(reshaped(y, (y.shape[0], level.size, *x.shape[1:2], *y.shape[2:])), 1, 0)
    y = _scaled(level, y, weight, bias, 1, x.ndim - 2)
    return (*lift(level, (y,)), *[None if part is None else lift(level, unmerged(level, part)) for part in rest])


@rule("batch_norm_eval")
def batch_norm_eval(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    x, *state = arrays
    if not any(at(level, part) for part in state):
        return lift(level, unmerged(level, call(name, (merged(x.value), *state), attributes)))
    weight, bias, mean, var = state
    tail = (1,) * (x.ndim - 2)

    def channels(array: Any) -> Any:
        own = (level.size, 1) if at(level, array) else ()
        return reshaped(inner(level, array), (*own, *array.shape, *tail))

    factor = call("rsqrt", (call("add", (channels(var), attributes["eps"]), {}),), {})
    y = call("mul", (call("sub", (spread(level, x), channels(mean)), {}), factor), {})
    return lift(level, _scaled(level, y, weight, bias, 1, x.ndim - 2))


@rule("cross_entropy")
def cross_entropy(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    """Of all samples at once without reduction, which comes after it."""
    x, target, weight = arrays
    if at(level, weight) or (attributes["with_grad"] and attributes["reduction"] == "mean"):
        return _mean_of_classes(level, x, target, weight, attributes)
    if x.ndim == 1:
        rows, labels = spread(level, x), spread(level, target)
    else:
        rows, labels = merged(spread(level, x)), merged(spread(level, target))
    losses, grad = call(name, (rows, labels, weight), {**attributes, "reduction": "none"})
    grad = None if grad is None else lift(level, reshaped(grad, (level.size, *x.shape)))
    losses = reshaped(losses, (level.size, *target.shape))
    return _reduced(level, losses, labels, weight, attributes), grad


def _reduced(level: Level, losses: Any, labels: Any, weight: Any, attributes: dict[str, Any]) -> Any:
    """The losses of each batch element, as `reduction` says."""
    if attributes["reduction"] == "none":
        return lift(level, losses)
    axes = {"axis": tuple(range(1, losses.ndim)) or (1,), "keepdims": False}
    if losses.ndim == 1:
        losses = reshaped(losses, (level.size, 1))
    total = call("sum", (losses,), axes)
    if attributes["reduction"] == "sum":
        return lift(level, total)
    return lift(level, call("div", (total, _counted(level, labels, weight, attributes, losses.dtype)), {}))


def _counted(level: Level, labels: Any, weight: Any, attributes: dict[str, Any], dtype: Any) -> Any:
    """The total weight of the labels of each batch element, which 'mean' divides by."""
    ignored = attributes["ignore_index"]
    kept = call("cast", (call("ne", (labels, ignored), {}),), {"dtype": dtype})
    if weight is not None:
        zeroed = call("where", (call("eq", (labels, ignored), {}), 0, labels), {})
        kept = call("mul", (kept, call("getitem", (weight,), {"index": (zeroed,)})), {})
    return call("sum", (_rows(level, kept),), {"axis": 1, "keepdims": False})


def _rows(level: Level, array: Any) -> Any:
    count = array.size // level.size if level.size else 0
    return reshaped(array, (level.size, count))


def _mean_of_classes(level: Level, x: Any, target: Any, weight: Any, attributes: dict[str, Any]) -> Any:
    """The mean with its gradient, which is divided by the total weight too."""
    if at(level, weight):
        return NotImplemented
    loss, grad = cross_entropy(level, "cross_entropy", (x, target, weight), {**attributes, "reduction": "sum"})
    labels = spread(level, target)
    total = _counted(level, labels, weight, attributes, x.dtype)
    each = reshaped(total, (level.size, *(1,) * x.ndim))
    return (lift(level, call("div", (loss.value, total), {})), lift(level, call("div", (grad.value, each), {})))
