"""How convolutions, poolings, normalizations and resizing are written as ONNX nodes."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
from lucid_kernels.windows import window_counts

from .errors import ExportError
from .graph import Graph, emits
from .runs import Length
from .shapes import rank_of, reshaped, sliced
from .tracing import Event, Ref


def _result(g: Graph, event: Event, place: int = 0) -> tuple[Any, ...]:
    return g.values[event.results[place]].shape  # type: ignore[index]


def _is_used(g: Graph, number: int | None) -> bool:
    """Whether a later call, or the caller, reads a value."""
    return number is not None and number in g.used


def _difference(a: Any, b: Any) -> Any:
    """a - b of numbers or lengths, as a number if it is one for all lengths."""
    if not isinstance(a, Length) and not isinstance(b, Length):
        return a - b
    count = len((a if isinstance(a, Length) else b).runs)
    apart = [x - y for x, y in zip(*[n.runs if isinstance(n, Length) else (n,) * count for n in (a, b)], strict=True)]
    return apart[0] if len(set(apart)) == 1 else Length(tuple(apart))


def _scaled(length: Any, factor: int, offset: int = 0) -> Any:
    if isinstance(length, Length):
        return Length(tuple(n * factor + offset for n in length.runs))
    return length * factor + offset


# ---- convolutions --------------------------------------------------------------------------------------------------------
@emits("conv2d conv3d conv2d_relu conv3d_relu", "Conv")
def _conv(g: Graph, event: Event) -> list[str]:
    a = event.attributes
    x, weight, bias = event.operands
    found = g.node("Conv", g.name(x), g.name(weight), None if bias is None else g.name(bias),
                   strides=list(a["stride"]), pads=[*a["padding"]] * 2, dilations=list(a["dilation"]), group=a["groups"])
    return [g.node("Relu", found) if event.kernel.endswith("relu") else found]


@emits("conv2d_grad_input conv3d_grad_input", "ConvTranspose")
def _transposed_conv(g: Graph, event: Event) -> list[str]:
    x, weight = event.operands
    a = event.attributes
    kernel = g.static(g.shape(weight)[2:], "the size of a kernel")
    beyond = []
    for length, wanted, k, s, p, d in zip(g.shape(x)[2:], _result(g, event)[2:], kernel, a["stride"], a["padding"], a["dilation"],
                                          strict=True):
        usual = _scaled(length, s, -s - 2 * p + d * (k - 1) + 1)
        beyond.append(_difference(wanted, usual))
    return [g.node("ConvTranspose", g.name(x), g.name(weight), strides=list(a["stride"]), pads=[*a["padding"]] * 2,
                   dilations=list(a["dilation"]), group=a["groups"], output_padding=g.static(beyond, "output_padding"))]


def _patches(g: Graph, operand: Ref, channels: int, size: tuple[int, ...]) -> str:
    """A weight by which a convolution copies the elements of its windows."""
    count = math.prod(size)
    weight = np.tile(np.eye(count, dtype=g.dtype(operand)).reshape(count, 1, *size), (channels, 1, 1, 1))
    return g.constant(weight)


@emits("unfold", "Conv")
def _unfold(g: Graph, event: Event) -> list[str]:
    operand, a = event.operands[0], event.attributes
    channels = g.static([g.shape(operand)[1]], "the number of channels")[0]
    found = g.node("Conv", g.name(operand), _patches(g, operand, channels, a["kernel_size"]), strides=list(a["stride"]),
                   pads=[*a["padding"]] * 2, dilations=list(a["dilation"]), group=channels)
    return [g.node("Reshape", found, g.ints([0, channels * math.prod(a["kernel_size"]), -1]))]


@emits("fold", "ConvTranspose")
def _fold(g: Graph, event: Event) -> list[str]:
    operand, a = event.operands[0], event.attributes
    size = a["kernel_size"]
    channels = g.static([_result(g, event)[1]], "the number of channels")[0]
    lengths = window_counts(g.static(a["output_size"], "output_size"), size, a["stride"], a["padding"], a["dilation"])
    beyond = [n - ((count - 1) * s - 2 * p + d * (k - 1) + 1) for n, count, k, s, p, d in zip(
        a["output_size"], lengths, size, a["stride"], a["padding"], a["dilation"], strict=True)]
    name = g.node("Reshape", g.name(operand), g.ints([0, channels * math.prod(size), *lengths]))
    return [g.node("ConvTranspose", name, _patches(g, operand, channels, size), strides=list(a["stride"]),
                   pads=[*a["padding"]] * 2, dilations=list(a["dilation"]), group=channels, output_padding=beyond)]


# ---- poolings ------------------------------------------------------------------------------------------------------------
def _beyond(g: Graph, event: Event, dilation: Any) -> list[int]:
    """By how much the last windows reach beyond the padding, as with ceil_mode."""
    a = event.attributes
    if not a["ceil_mode"]:
        return [0] * len(a["kernel_size"])
    apart = []
    for n, count, k, s, p, d in zip(g.shape(event.operands[0])[2:], _result(g, event)[2:], a["kernel_size"], a["stride"],
                                    a["padding"], dilation, strict=True):
        reach = _difference(_scaled(count, s, -s + d * (k - 1) + 1), n)
        apart.append(_scaled(reach, 1, -2 * p))
    return [max(0, number) for number in g.static(apart, "ceil_mode")]


@emits("max_pool2d", "MaxPool")
def _max_pool(g: Graph, event: Event) -> list[str | None]:
    operand, a = event.operands[0], event.attributes
    beyond = _beyond(g, event, a["dilation"])
    pads = [*a["padding"], *[p + more for p, more in zip(a["padding"], beyond, strict=True)]]
    options = {"kernel_shape": list(a["kernel_size"]), "strides": list(a["stride"]), "pads": pads,
               "dilations": list(a["dilation"])}
    places = event.results[1] if len(event.results) > 1 else None
    outputs = g.nodes_outputs("MaxPool", 2 if _is_used(g, places) else 1, g.name(operand), **options)
    indices = None
    if len(outputs) > 1:  # among all elements there, in an image here
        indices = g.node("Mod", outputs[1], g.node("ReduceProd", g.node("Shape", g.name(operand), start=2), keepdims=0))
    found = g.node("Relu", outputs[0]) if a.get("relu") else outputs[0]
    return [found, indices, *[None] * (len(event.results) - 2)][:len(event.results)]


@emits("avg_pool2d", "AveragePool")
def _avg_pool(g: Graph, event: Event) -> list[str]:
    operand, a = event.operands[0], event.attributes
    beyond = _beyond(g, event, [1] * len(a["kernel_size"]))
    name, padding = g.name(operand), list(a["padding"])
    divisor, counted = a["divisor_override"], a["count_include_pad"]
    if divisor is not None or (counted and any(padding)):  # zeros that count, before those that do not
        after = [p + (more if divisor is not None else 0) for p, more in zip(padding, beyond, strict=True)]
        axes = list(range(2, 2 + len(padding)))
        if any(padding) or any(after):
            name = g.node("Pad", name, g.ints([*padding, *after]), None, g.ints(axes), mode="constant")
        padding, beyond = [0] * len(padding), [0] * len(padding) if divisor is not None else beyond
    pads = [*padding, *[p + more for p, more in zip(padding, beyond, strict=True)]]
    found = g.node("AveragePool", name, kernel_shape=list(a["kernel_size"]), strides=list(a["stride"]), pads=pads,
                   count_include_pad=0)
    if divisor is None:
        return [found]
    return [g.node("Mul", found, g.constant(math.prod(a["kernel_size"]) / divisor, g.dtype(operand)))]


def _windows(length: int, count: int) -> list[tuple[int, int]]:
    """Begin and end of the windows of an adaptive pooling."""
    return [(place * length // count, -(-(place + 1) * length // count)) for place in range(count)]


@emits("adaptive_avg_pool2d adaptive_max_pool2d", "ReduceMean, ReduceMax, AveragePool, MaxPool, MatMul")
def _adaptive_pool(g: Graph, event: Event) -> list[str | None]:
    operand, wanted = event.operands[0], event.attributes["output_size"]
    average = event.kernel == "adaptive_avg_pool2d"
    name, dtype, rank = g.name(operand), g.dtype(operand), rank_of(g, operand)
    if event.attributes.get("relu"):
        raise ExportError(f"{g.line}: '{event.kernel}' with ReLU cannot be exported")
    if len(event.results) > 1 and _is_used(g, event.results[1]):
        raise ExportError(f"{g.line}: the indices of a pooling cannot be exported")
    lengths = list(g.shape(operand)[2:])
    wanted = _result(g, event)[2:] if any(isinstance(count, Length) for count in wanted) else wanted
    for axis, (length, count) in enumerate(zip(lengths, wanted, strict=True), 2):
        if length == count:
            continue
        if count == 1:
            name = g.node("ReduceMean" if average else "ReduceMax", name, g.ints([axis]), keepdims=1)
            continue
        length, count = g.static([length, count], "an adaptive pooling to more than one element")
        windows = _windows(length, count)
        if average:
            weight = np.zeros((length, count), dtype)
            for place, (begin, end) in enumerate(windows):
                weight[begin:end, place] = 1 / (end - begin)
            last = axis == rank - 1
            name = (g.node("MatMul", name, g.constant(weight)) if last
                    else g.node("MatMul", g.constant(np.ascontiguousarray(weight.T)), name))
        else:
            parts = [g.node("ReduceMax", sliced(g, name, axis, begin, end), g.ints([axis]), keepdims=1) for begin, end in windows]
            name = g.node("Concat", *parts, axis=axis)
    return [g.node("Identity", name) if name == g.name(operand) else name, *[None] * (len(event.results) - 1)]


@emits("max_unpool2d", "ScatterElements")
def _unpool(g: Graph, event: Event) -> list[str]:
    operand, places = event.operands
    shape = _result(g, event)
    area = math.prod(g.static(shape[-2:], "output_size"))
    rows = g.ints([0, 0, -1])
    zeros = g.node("Expand", g.constant(0, g.dtype(operand)), g.ints([*shape[:2], area]))
    found = g.node("ScatterElements", zeros, *[g.node("Reshape", g.name(array), rows) for array in (places, operand)], axis=2)
    return [reshaped(g, found, shape)]


# ---- normalizations ------------------------------------------------------------------------------------------------------
_TRAINING = "batch normalization with the statistics of the batch changes a state, which a graph does not have"


def _channels(g: Graph, operand: Any, like: Ref) -> str:
    """A parameter of each channel, shaped to broadcast."""
    return g.node("Reshape", g.name(operand), g.ints([-1, *[1] * (rank_of(g, like) - 2)]))


@emits("batch_norm_eval batch_norm_relu", "BatchNormalization, Relu")
def _batch_norm(g: Graph, event: Event) -> list[str | None]:
    x, *others = event.operands
    residual = None
    if event.kernel == "batch_norm_relu":
        if event.attributes["training"]:
            raise ExportError(f"{g.line}: {_TRAINING}")
        residual, *others, _ = others  # the last counts batches, in training
    weight, bias, mean, variance = others
    channels, dtype = g.shape(x)[1], g.dtype(x)
    names = [g.name(weight) if weight is not None else g.node("Expand", g.constant(1, dtype), g.ints([channels])),
             g.name(bias) if bias is not None else g.node("Expand", g.constant(0, dtype), g.ints([channels]))]
    found = g.node("BatchNormalization", g.name(x), *names, g.name(mean), g.name(variance), epsilon=event.attributes["eps"])
    if event.kernel == "batch_norm_eval":
        return [found]
    found = found if residual is None else g.node("Add", found, g.name(residual))
    return [g.node("Relu", found), *[None] * (len(event.results) - 1)]


@emits("batch_norm", "ReduceMean, Sub, Mul, Sqrt, Div")
def _batch_statistics(g: Graph, event: Event) -> list[str | None]:
    x, weight, bias, *state = event.operands
    if any(operand is not None for operand in state):
        raise ExportError(f"{g.line}: {_TRAINING}")
    axes = [axis for axis in range(rank_of(g, x)) if axis != 1]
    found = _standardized(g, g.name(x), axes, event.attributes["eps"], g.dtype(x))
    return _with_parameters(g, event, found, x, weight, bias)


def _with_parameters(g: Graph, event: Event, found: str, x: Any, weight: Any, bias: Any) -> list[str | None]:
    """The results, of which the first is `found` times the weight and plus the bias of each channel of x."""
    if weight is not None:
        found = g.node("Mul", found, _channels(g, weight, x))
    if bias is not None:
        found = g.node("Add", found, _channels(g, bias, x))
    return [found, *[None] * (len(event.results) - 1)]


def _standardized(g: Graph, name: str, axes: list[int], eps: float, dtype: Any) -> str:
    apart = g.node("Sub", name, g.node("ReduceMean", name, g.ints(axes), keepdims=1))
    variance = g.node("ReduceMean", g.node("Mul", apart, apart), g.ints(axes), keepdims=1)
    return g.node("Div", apart, g.node("Sqrt", g.node("Add", variance, g.constant(eps, dtype))))


@emits("group_norm", "Reshape, ReduceMean, Sub, Mul, Sqrt, Div")
def _group_norm(g: Graph, event: Event) -> list[str | None]:
    x, weight, bias = event.operands
    groups = g.node("Reshape", g.name(x), g.ints([0, event.attributes["groups"], -1]))
    found = _standardized(g, groups, [2], event.attributes["eps"], g.dtype(x))
    found = g.node("Reshape", found, g.node("Shape", g.name(x)))
    return _with_parameters(g, event, found, x, weight, bias)


@emits("layer_norm", "LayerNormalization")
def _layer_norm(g: Graph, event: Event) -> list[str | None]:
    x, weight, bias = event.operands
    count = event.attributes["normalized_ndim"]
    scale = g.name(weight) if weight is not None else g.node("Expand", g.constant(1, g.dtype(x)), g.ints(g.shape(x)[-count:]))
    found = g.node("LayerNormalization", g.name(x), scale, None if bias is None else g.name(bias), axis=-count,
                   epsilon=event.attributes["eps"])
    return [found, *[None] * (len(event.results) - 1)]


@emits("rms_norm", "Mul, ReduceMean, Sqrt, Div")
def _rms_norm(g: Graph, event: Event) -> list[str | None]:
    x, weight = event.operands
    name, rank = g.name(x), rank_of(g, x)
    axes = list(range(rank - event.attributes["normalized_ndim"], rank))
    square = g.node("ReduceMean", g.node("Mul", name, name), g.ints(axes), keepdims=1)
    found = g.node("Div", name, g.node("Sqrt", g.node("Add", square, g.constant(event.attributes["eps"], g.dtype(x)))))
    return [found if weight is None else g.node("Mul", found, g.name(weight)), *[None] * (len(event.results) - 1)]


# ---- resizing ------------------------------------------------------------------------------------------------------------
def _nearest(g: Graph, event: Event) -> str:
    name, exact = g.name(event.operands[0]), event.attributes["mode"] == "nearest-exact"
    lengths, wanted = g.shape(event.operands[0])[2:], _result(g, event)[2:]
    for axis, (length, count, step) in enumerate(zip(lengths, wanted, event.attributes["steps"], strict=True), 2):
        places = np.floor((np.arange(count, dtype=np.float32) + (0.5 if exact else 0.0)) * step).astype(np.int64)
        name = g.node("Gather", name, g.constant(np.minimum(places, length - 1)), axis=axis)
    return name


@emits("resample", "Resize, Gather")
def _resample(g: Graph, event: Event) -> list[str]:
    operand, a = event.operands[0], event.attributes
    mode, steps = a["mode"].removesuffix(" of bytes"), a["steps"]
    if mode not in ("nearest", "nearest-exact", "linear", "cubic"):
        raise ExportError(f"{g.line}: interpolation with antialias=True cannot be exported")
    coordinates = "align_corners" if a["align_corners"] else "asymmetric" if mode == "nearest" else "half_pixel"
    if mode.startswith("nearest") and not any(isinstance(n, Length) for n in (*g.shape(operand)[2:], *_result(g, event)[2:])):
        return [_nearest(g, event)]  # the very elements: how places are rounded differs between runtimes
    options: dict[str, Any] = {"mode": mode.removesuffix("-exact"), "coordinate_transformation_mode": coordinates}
    if mode.startswith("nearest"):
        options["nearest_mode"] = "floor" if mode == "nearest" else "round_prefer_ceil"
    if mode == "cubic":
        options["cubic_coeff_a"] = -0.75
    lengths, wanted = g.shape(operand)[2:], _result(g, event)[2:]
    apart = zip(lengths, wanted, steps, strict=True)
    if a["align_corners"] or all(not isinstance(n, Length) and not isinstance(m, Length) and math.isclose(n / m, step)
                                 for n, m, step in apart):
        sizes = g.node("Concat", g.node("Shape", g.name(operand), start=0, end=2), g.ints(wanted), axis=0)
        return [g.node("Resize", g.name(operand), None, None, sizes, **options)]
    scales = g.constant([1.0, 1.0, *[1 / step for step in steps]], np.float32)
    return [g.node("Resize", g.name(operand), None, scales, **options)]
