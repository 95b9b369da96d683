"""Recurrent layers."""
from __future__ import annotations

from typing import Any

import numpy as np

from .errors import ExportError
from .graph import Graph, emits
from .shapes import rank_of
from .tracing import EACH_TIME, Event, Ref

_KINDS = {"LSTM": ("LSTM", (0, 3, 1, 2)), "GRU": ("GRU", (1, 0, 2)), "RNN_TANH": ("RNN", (0,)), "RNN_RELU": ("RNN", (0,))}


@emits("recurrence", "LSTM, GRU, RNN")
def _recurrence(g: Graph, event: Event) -> list[str | None]:
    gates, weight, bias, hidden, cell = event.operands
    a = event.attributes
    operator, order = _KINDS[a["mode"]]
    if a["batch_sizes"] != EACH_TIME:
        raise ExportError(f"{g.line}: a packed sequence cannot be exported")
    rows, features = g.static(g.shape(weight), "the size of a recurrent layer")

    def ordered(name: str) -> str:
        """Rows of gates in ONNX's order, of a layer of one direction."""
        places = np.concatenate([np.arange(part * features, (part + 1) * features) for part in order])
        return g.node("Unsqueeze", g.node("Gather", name, g.constant(places, np.int64), axis=0), g.ints([0]))

    def state(operand: Any) -> str | None:
        if operand is None:
            return None
        return g.node("Unsqueeze", g.name(operand), g.ints([0])) if rank_of(g, operand) == 2 else g.name(operand)

    zeros = g.constant(np.zeros(rows), g.dtype(weight))
    source = g.producers.get(gates.value)
    if source is not None and source.kernel == "linear" and isinstance(source.operands[0], Ref):
        x, of_input, input_bias = source.operands
        name, matrix = g.name(x), ordered(g.name(of_input))
        before = zeros if input_bias is None else g.name(input_bias)
    else:  # the gates come from elsewhere: taken as they are
        name, matrix, before = g.name(gates), ordered(g.constant(np.eye(rows), g.dtype(weight))), zeros
    steps = rank_of(g, gates) == 3
    if not steps:
        name = g.node("Unsqueeze", name, g.ints([0]))
    biases = g.node("Concat", ordered(before), ordered(zeros if bias is None else g.name(bias)), axis=1)
    options: dict[str, Any] = {"hidden_size": features, "direction": "reverse" if a["reverse"] else "forward"}
    if operator == "GRU":
        options["linear_before_reset"] = 1
    if a["mode"] == "RNN_RELU":
        options["activations"] = ["Relu"]
    outputs = g.nodes_outputs(operator, 3 if operator == "LSTM" else 2, name, matrix, ordered(g.name(weight)), biases, None,
                              state(hidden), state(cell), **options)
    everything = g.node("Squeeze", outputs[0], g.ints([1] if steps else [0, 1]))
    last = [g.node("Squeeze", output, g.ints([0])) if rank_of(g, hidden) == 2 else output for output in outputs[1:]]
    return [everything, last[0], last[1] if operator == "LSTM" else None, *[None] * (len(event.results) - 3)]
