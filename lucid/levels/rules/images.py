"""Layers of images: the batch dimension joins that of the samples or, where weights have one, that of the channels."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lifted import Level, call
from .basis import at, lift, merged, moved, new_rules, reshaped, spread, unmerged

RULES, rule = new_rules()


def _channels(level: Level, array: Any) -> Any:
    """(batch, N, C, ...) as (N, batch * C, ...)."""
    value = spread(level, array)
    if value.shape[1] == 1:
        return reshaped(value, (1, value.shape[0] * value.shape[2], *value.shape[3:]))
    value = moved(value, 0, 1)
    return reshaped(value, (value.shape[0], value.shape[1] * value.shape[2], *value.shape[3:]))


def _unchannels(level: Level, value: Any) -> Any:
    """`_channels` undone."""
    size = level.size
    value = reshaped(value, (value.shape[0], size, value.shape[1] // size if size else 0, *value.shape[2:]))
    return moved(value, 1, 0)


def _grouped(level: Level, attributes: dict[str, Any]) -> dict[str, Any]:
    return {**attributes, "groups": attributes["groups"] * level.size}


@rule("conv2d conv3d")
def convolution(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    x, weight, bias = arrays
    if not at(level, weight):
        result = unmerged(level, call(name, (merged(spread(level, x)), weight, None if at(level, bias) else bias), attributes))
    else:
        filters = merged(weight.value)
        if not at(level, x) and attributes["groups"] == 1:
            result = _unchannels(level, call(name, (x, filters, None), attributes))
        else:
            result = _unchannels(level, call(name, (_channels(level, x), filters, None), _grouped(level, attributes)))
        if bias is not None and not at(level, bias):
            result = call("add", (result, reshaped(bias, (*bias.shape, *(1,) * (x.ndim - 2)))), {})
    if at(level, bias):
        result = call("add", (result, reshaped(bias.value, (level.size, 1, *bias.shape, *(1,) * (x.ndim - 2)))), {})
    return lift(level, result)


@rule("conv2d_relu conv3d_relu")
def convolution_relu(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    return call("relu", (convolution(level, name.removesuffix("_relu"), arrays, attributes),), {})


@rule("conv2d_grad_input conv3d_grad_input")
def gradient_of_input(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    g, weight = arrays
    samples, channels, *lengths = attributes["input_shape"]
    if not at(level, weight):
        shape = (level.size * samples, channels, *lengths)
        return lift(level, unmerged(level, call(name, (merged(g.value), weight), {**attributes, "input_shape": shape})))
    shape = (samples, level.size * channels, *lengths)
    result = call(name, (_channels(level, g), merged(weight.value)), {**_grouped(level, attributes), "input_shape": shape})
    return lift(level, _unchannels(level, result))


@rule("conv2d_grad_weight conv3d_grad_weight")
def gradient_of_weight(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    g, x = arrays
    outputs, *rest = attributes["weight_shape"]
    found = _by_columns(level, g, x, attributes)
    if found is not None:
        return lift(level, found)
    shape = (level.size * outputs, *rest)
    result = call(name, (_channels(level, g), _channels(level, x)), {**_grouped(level, attributes), "weight_shape": shape})
    return lift(level, unmerged(level, result))


def _by_columns(level: Level, g: Any, x: Any, attributes: dict[str, Any]) -> Any:
    """The gradient of each element's weight as a product of its gradient and the windows of its image: many small products take
    less time than a convolution of as many groups. None for volumes, and for groups.
    """
    outputs, channels, *kernel = attributes["weight_shape"]
    if attributes["groups"] != 1 or len(kernel) != 2:
        return None
    gradients, images = spread(level, g), spread(level, x)
    size, samples = gradients.shape[:2]
    columns = call("unfold", (merged(images),), {"kernel_size": tuple(kernel), "stride": attributes["stride"],
                                                 "padding": attributes["padding"], "dilation": attributes["dilation"]})
    # The windows that fit: a stride may leave rows at the end out, which the outputs do not have.
    places = columns.shape[2]
    flat = reshaped(gradients, (size * samples, outputs, places))
    products = call("matmul", (flat, columns), {"transpose_b": True})
    products = reshaped(products, (size, samples, outputs, channels, *kernel))
    if samples == 1:
        return reshaped(products, (size, outputs, channels, *kernel))
    return call("sum", (products,), {"axis": 1, "keepdims": False})


@rule("conv2d_grad_parameters conv3d_grad_parameters")
def gradient_of_parameters(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    g, x = arrays
    weight = call(name.replace("parameters", "weight"), (g, x), attributes)
    return weight, call("sum", (g,), {"axis": (0, *range(2, g.ndim)), "keepdims": False})


@rule("max_pool2d adaptive_max_pool2d avg_pool2d adaptive_avg_pool2d max_pool2d_gather max_unpool2d max_pool2d_grad",
      "avg_pool2d_grad adaptive_avg_pool2d_grad unfold fold attention resample resample_grad grid_sample")
def of_samples(level: Level, name: str, arrays: Sequence[Any], attributes: dict[str, Any]) -> Any:
    if "input_shape" in attributes:
        samples, *rest = attributes["input_shape"]
        attributes = {**attributes, "input_shape": (level.size * samples, *rest)}
    if name == "attention" and arrays[3] is not None:
        arrays = (*arrays[:3], _mask(arrays[3], arrays[0].shape[0]))
    result = call(name, [None if array is None else merged(spread(level, array)) for array in arrays], attributes)
    if name == "attention":  # what is kept for the gradient is of rows of all samples and heads
        y, shift, factor, powers = result
        return (*lift(level, tuple([unmerged(level, part) for part in (y, shift, factor)])),
                None if powers is None else lift(level, unmerged(level, powers)))
    if result.__class__ is tuple:
        return lift(level, tuple([None if part is None else unmerged(level, part) for part in result]))
    return lift(level, unmerged(level, result))


def _mask(mask: Any, samples: int) -> Any:
    """A mask of all samples, as those of other batch elements follow."""
    return mask if mask.shape[0] == samples else call("broadcast_to", (mask,), {"shape": (samples, *mask.shape[1:])})
