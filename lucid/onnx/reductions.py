"""Reductions, products of matrices, sorting."""
from __future__ import annotations

from typing import Any

import numpy as np

from .errors import ExportError
from .graph import Graph, emits
from .runs import Length
from .shapes import rank_of, transposed
from .tracing import Event, Ref

_OPERATORS = {"sum": "ReduceSum", "mean": "ReduceMean", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin",
              "norm2": "ReduceL2", "logsumexp": "ReduceLogSumExp"}


def _axes(g: Graph, event: Event) -> list[int]:
    axes = event.attributes["axis"]
    if axes is None:
        return list(range(rank_of(g, event.operands[0])))
    return list(axes) if isinstance(axes, tuple) else [axes]


def _reduced(g: Graph, operator: str, name: str, axes: list[int], keepdims: bool) -> str:
    return g.node(operator, name, g.ints(axes), keepdims=int(keepdims), noop_with_empty_axes=int(not axes))


def _result_dtype(g: Graph, event: Event) -> Any:
    return g.values[event.results[0]].dtype  # type: ignore[index]


@emits("sum mean prod max min norm2 logsumexp", "ReduceSum, ReduceMean, …")
def _reduce(g: Graph, event: Event) -> list[str]:
    operand, wanted = event.operands[0], _result_dtype(g, event)
    name = g.name(operand)
    boolean = event.kernel in ("max", "min") and wanted.kind == "b"
    if g.dtype(operand) != wanted or boolean:
        name = g.cast(name, np.int32 if boolean else wanted)
    name = _reduced(g, _OPERATORS[event.kernel], name, _axes(g, event), event.attributes["keepdims"])
    return [g.cast(name, wanted) if boolean else name]


@emits("any all", "Cast, ReduceMax, ReduceMin")
def _truth(g: Graph, event: Event) -> list[str]:
    name = g.cast(g.cast(g.name(event.operands[0]), np.bool_), np.int32)
    operator = "ReduceMax" if event.kernel == "any" else "ReduceMin"
    return [g.cast(_reduced(g, operator, name, _axes(g, event), event.attributes["keepdims"]), np.bool_)]


@emits("var std", "ReduceMean, Sub, Mul, Sqrt")
def _variance(g: Graph, event: Event) -> list[str]:
    operand, axes, keepdims = event.operands[0], _axes(g, event), event.attributes["keepdims"]
    dtype = g.dtype(operand)
    if dtype.kind == "c":
        raise ExportError(f"{g.line}: complex numbers cannot be exported")
    name = g.name(operand)
    apart = g.node("Sub", name, _reduced(g, "ReduceMean", name, axes, True))
    total = _reduced(g, "ReduceSum", g.node("Mul", apart, apart), axes, keepdims)
    count = g.constant(1, np.int64)
    for axis in axes:
        count = g.node("Mul", count, g.name(g.shape(operand)[axis], np.int64))
    divisor = g.node("Sub", g.cast(count, dtype), g.constant(event.attributes["correction"], dtype))
    found = g.node("Div", total, g.node("Max", divisor, g.constant(0, dtype)))
    return [g.node("Sqrt", found) if event.kernel == "std" else found]


@emits("argmax argmin", "ArgMax, ArgMin")
def _argmax(g: Graph, event: Event) -> list[str]:
    name, axis = g.name(event.operands[0]), event.attributes["axis"]
    operator = "ArgMax" if event.kernel == "argmax" else "ArgMin"
    if axis is not None:
        return [g.node(operator, name, axis=axis, keepdims=int(event.attributes["keepdims"]))]
    if event.attributes["keepdims"]:
        raise ExportError(f"{g.line}: '{event.kernel}' of all elements with keepdim cannot be exported")
    return [g.node(operator, g.node("Reshape", name, g.ints([-1])), axis=0, keepdims=0)]


@emits("max_with_indices min_with_indices", "ReduceMax, ArgMax")
def _extremum(g: Graph, event: Event) -> list[str]:
    name, axis, keepdims = g.name(event.operands[0]), event.attributes["axis"], event.attributes["keepdims"]
    kind = "Max" if event.kernel.startswith("max") else "Min"
    return [_reduced(g, f"Reduce{kind}", name, [axis], keepdims), g.node(f"Arg{kind}", name, axis=axis, keepdims=int(keepdims))]


@emits("topk sort", "TopK")
def _topk(g: Graph, event: Event) -> list[str]:
    operand, axis = event.operands[0], event.attributes["axis"]
    count = event.attributes["k"] if event.kernel == "topk" else g.shape(operand)[axis]
    largest = event.attributes["largest" if event.kernel == "topk" else "descending"]
    return g.nodes_outputs("TopK", 2, g.name(operand), g.ints([count]), axis=axis, largest=int(largest), sorted=1)


@emits("cumsum", "CumSum")
def _cumsum(g: Graph, event: Event) -> list[str]:
    operand, wanted = event.operands[0], _result_dtype(g, event)
    name = g.name(operand) if g.dtype(operand) == wanted else g.cast(g.name(operand), wanted)
    return [g.node("CumSum", name, g.constant(event.attributes["axis"], np.int64))]


@emits("softmax", "Softmax")
def _softmax(g: Graph, event: Event) -> list[str]:
    return [g.node("Softmax", g.name(event.operands[0]), axis=event.attributes["dim"])]


@emits("log_softmax", "LogSoftmax")
def _log_softmax(g: Graph, event: Event) -> list[str]:
    return [g.node("LogSoftmax", g.name(event.operands[0]), axis=event.attributes["dim"])]


@emits("matmul dot", "MatMul")
def _matmul(g: Graph, event: Event) -> list[str]:
    names = []
    for operand, attribute in zip(event.operands, ("transpose_a", "transpose_b"), strict=True):
        name, rank = g.name(operand), rank_of(g, operand)
        turned = event.attributes.get(attribute) and rank > 1
        names.append(transposed(g, name, [*range(rank - 2), rank - 1, rank - 2]) if turned else name)
    return [g.node("MatMul", *names)]


@emits("linear", "Gemm, or MatMul and Add")
def _linear(g: Graph, event: Event) -> list[str]:
    x, weight, bias = event.operands
    if rank_of(g, x) == 2 and rank_of(g, weight) == 2:
        return [g.node("Gemm", g.name(x), g.name(weight), None if bias is None else g.name(bias), transB=1)]
    found = g.node("MatMul", g.name(x), transposed(g, g.name(weight), range(rank_of(g, weight))[::-1]))
    return [found if bias is None else g.node("Add", found, g.name(bias))]


@emits("attention", "MatMul, Softmax")
def _attention(g: Graph, event: Event) -> list[str | None]:
    query, key, value, mask = event.operands
    dtype, rank = g.dtype(query), rank_of(g, query)
    names = {operand: g.name(operand) for operand in (query, key, value)}
    if g.shape(key)[1] != g.shape(query)[1]:
        raise ExportError(f"{g.line}: attention of groups of heads cannot be exported; repeat the keys and values")
    turned = transposed(g, names[key], [*range(rank - 2), rank - 1, rank - 2])
    scores = g.node("MatMul", g.node("Mul", names[query], g.constant(event.attributes["scale"], dtype)), turned)
    if event.attributes["is_causal"]:
        ones = g.node("Expand", g.constant(1, np.int64), g.ints([g.shape(query)[-2], g.shape(key)[-2]]))
        seen = g.cast(g.node("Trilu", ones, upper=0), np.bool_)
        scores = g.node("Where", seen, scores, g.constant(-np.inf, dtype))
    if isinstance(mask, Ref):
        if g.dtype(mask).kind == "b":
            scores = g.node("Where", g.name(mask), scores, g.constant(-np.inf, dtype))
        else:
            scores = g.node("Add", scores, g.name(mask))
    weights = g.node("Softmax", scores, axis=-1)
    if isinstance(mask, Ref):  # who sees nobody gets zeros
        nobody = g.node("Equal", g.node("ReduceMax", scores, g.ints([-1]), keepdims=1), g.constant(-np.inf, dtype))
        weights = g.node("Where", nobody, g.constant(0, dtype), weights)
    found = g.node("MatMul", weights, names[value])
    return [found, *[None] * (len(event.results) - 1)]


@emits("cross_entropy nll_loss", "SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss")
def _cross_entropy(g: Graph, event: Event) -> list[str | None]:
    x, target, weight = event.operands
    if event.attributes.get("label_smoothing") or g.dtype(target).kind == "f":
        raise ExportError(f"{g.line}: cross_entropy with label_smoothing, or with probabilities, cannot be exported")
    ignored = event.attributes["ignore_index"]
    if isinstance(ignored, Length):
        raise ExportError(f"{g.line}: ignore_index depends on a dynamic length")
    operator = "SoftmaxCrossEntropyLoss" if event.kernel == "cross_entropy" else "NegativeLogLikelihoodLoss"
    found = g.node(operator, g.name(x), g.name(target), None if weight is None else g.name(weight),
                   reduction=event.attributes["reduction"], **({} if ignored is None else {"ignore_index": ignored}))
    return [found, *[None] * (len(event.results) - 1)]
