"""Recurrent networks: the steps of an Elman network, an LSTM (Hochreiter and Schmidhuber 1997) and a GRU (Cho et al. 2014), and
their run over a sequence.

A run without a projection is one operation, with a gradient of its own. What it cannot do, and its gradients of higher order, are
composed of the steps.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import _dtypes
from ...autograd.calls import operation
from ...autograd.grad_mode import is_composed
from ...autograd.op import Vjp
from ...tensor import Tensor
from .._second_order import by_recording
from ..linalg.matmul import linear
from ..manipulation.joining import cat, stack
from ..random.dropout import dropout
from .activation import relu, sigmoid, tanh

State = tuple[Tensor, ...]  # (h,), for an LSTM (h, c), each (..., features) with a row for each sequence of the batch
Step = Callable[[Tensor, State, "Weights"], State]


class Weights:
    """The parameters of one direction of one layer; biases and the projection may be None."""

    __slots__ = ("bias_hh", "bias_ih", "weight_hh", "weight_hr", "weight_ih")

    def __init__(self, weight_ih: Tensor, weight_hh: Tensor, bias_ih: Tensor | None = None, bias_hh: Tensor | None = None,
                 weight_hr: Tensor | None = None) -> None:
        self.weight_ih = weight_ih
        self.weight_hh = weight_hh
        self.bias_ih = bias_ih
        self.bias_hh = bias_hh
        self.weight_hr = weight_hr

    def of_input(self, input: Tensor) -> Tensor:
        """What the input contributes to the gates: for a whole sequence in one product."""
        return linear(input, self.weight_ih, self.bias_ih)

    def of_hidden(self, hidden: Tensor) -> Tensor:
        """What the hidden state contributes to the gates."""
        return linear(hidden, self.weight_hh, self.bias_hh)


def rnn_tanh_step(gates: Tensor, state: State, weights: Weights) -> State:
    """``tanh(W x + b + U h + c)``, with `gates` for ``W x + b``."""
    return (tanh(gates + weights.of_hidden(state[0])),)


def rnn_relu_step(gates: Tensor, state: State, weights: Weights) -> State:
    """The same with ``max(..., 0)``."""
    return (relu(gates + weights.of_hidden(state[0])),)


def lstm_step(gates: Tensor, state: State, weights: Weights) -> State:
    """The gates are input, forget, cell, output; with a projection the hidden state is ``weight_hr @ h``."""
    hidden, cell = state
    into, forget, new, out = (gates + weights.of_hidden(hidden)).chunk(4, -1)
    cell = sigmoid(forget) * cell + sigmoid(into) * tanh(new)
    hidden = sigmoid(out) * tanh(cell)
    return (hidden if weights.weight_hr is None else linear(hidden, weights.weight_hr)), cell


def gru_step(gates: Tensor, state: State, weights: Weights) -> State:
    """The gates are reset, update, new; the reset gate acts on the product with the hidden state, as in cuDNN and PyTorch."""
    (hidden,) = state
    reset, update, new = gates.chunk(3, -1)
    hidden_reset, hidden_update, hidden_new = weights.of_hidden(hidden).chunk(3, -1)
    new = tanh(new + sigmoid(reset + hidden_reset) * hidden_new)
    return (new + sigmoid(update + hidden_update) * (hidden - new),)


STEPS: dict[str, Step] = {"RNN_TANH": rnn_tanh_step, "RNN_RELU": rnn_relu_step, "LSTM": lstm_step, "GRU": gru_step}


def _rule(needs: Sequence[bool], gates: Tensor, weight: Tensor, bias: Tensor | None, hidden: Tensor, cell: Tensor | None, *,
          mode: str, batch_sizes: tuple[int, ...], reverse: bool) -> Vjp:
    inputs = gates, weight, bias, hidden, cell

    def vjp(g: Sequence[Tensor | None], y: Any, needs: Sequence[bool] = needs) -> Sequence[Tensor | None]:
        if is_composed():
            return _composed_gradients(g, needs, inputs, mode, batch_sizes, reverse)
        kept, before, cells = y
        slopes = [*g, None, None][:3]  # it ends with the last one that there is
        d_gates, d_product, d_hidden, d_cell = _recurrence_grad(*slopes, weight, kept, before, cells, mode=mode,
                                                                batch_sizes=batch_sizes, reverse=reverse)
        d_product = d_gates if d_product is None else d_product
        found = (d_gates, d_product.T @ before if needs[1] else None, d_product.sum(0) if needs[2] else None, d_hidden, d_cell)
        return [_as(gradient, tensor) if want else None for gradient, want, tensor in zip(found, needs, inputs, strict=True)]

    return vjp


def _as(gradient: Any, tensor: Any) -> Tensor:
    """`gradient`, a matrix, with the dtype and the shape of `tensor`."""
    converted: Tensor = gradient.to(tensor.dtype)
    shape = tensor._array.shape
    return converted if converted._array.shape == shape else converted.reshape(shape)


_recurrence = operation("recurrence", _rule, saved_outputs=(3, 4, 5), outputs=(0, 1, 2))
_recurrence_grad = operation("recurrence_grad")


def _composed_gradients(g: Sequence[Tensor | None], needs: Sequence[bool], inputs: Sequence[Tensor | None], mode: str,
                        batch_sizes: Sequence[int], reverse: bool) -> Sequence[Tensor | None]:
    """The gradients of `_recurrence` by the rules of its operations: they differentiate again."""
    def composed(gates: Tensor, weight: Tensor, bias: Tensor | None, *state: Tensor | None) -> tuple[Tensor, ...]:
        start = tuple(part for part in state if part is not None)
        output, end = _run_steps(STEPS[mode], gates, start, Weights(weight, weight, None, bias), batch_sizes, reverse)
        return (output, *end)

    return by_recording(composed, inputs, needs, g)


def run_direction(mode: str, input: Tensor, state: State, weights: Weights, batch_sizes: tuple[int, ...], reverse: bool
                  ) -> tuple[Tensor, State]:
    """Run over a sequence, from its end if `reverse`: the hidden states of all steps, and the last state, shaped as `input` and
    `state`; none of them shares memory with another.

    The rows of `input` (..., features) belong to one time after the other: at time t the first ``batch_sizes[t]`` sequences, of
    which there are never more, go on. The state of a sequence that has ended stays as it was then; from the end, a sequence joins
    at its last element.
    """
    if not batch_sizes:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    if _is_one_operation(input, state, weights):
        return _run(mode, input, state, weights, batch_sizes, reverse)
    return _run_steps(STEPS[mode], weights.of_input(input), state, weights, batch_sizes, reverse)


def run_layers(mode: str, input: Tensor, state: State, weights: Sequence[Weights], batch_sizes: tuple[int, ...],
               directions: int, p: float = 0.0) -> tuple[Tensor, State]:
    """The runs of all layers, with the weights of each direction of each layer in a row: the hidden states of the last layer,
    those of the reverse direction behind those of the forward one, and the last state (layers * directions, ...). Dropout with
    probability `p` acts on the outputs of all layers but the last.
    """
    outputs: list[Tensor] = []
    last: list[State] = []
    starts = zip(*[part.unbind() for part in state], strict=True)
    for number, (own, start) in enumerate(zip(weights, starts, strict=True)):
        output, end = run_direction(mode, input, start, own, batch_sizes, reverse=number % directions == 1)
        last.append(end)
        outputs.append(output)
        if len(outputs) == directions:
            input = outputs[0] if directions == 1 else cat(outputs, -1)
            outputs = []
            if p and number < len(weights) - 1:
                input = dropout(input, p)
    return input, tuple(stack(list(parts)) for parts in zip(*last, strict=True))


def run_step(mode: str, input: Tensor, state: State, weights: Weights) -> State:
    """The state after `input` (batch, features) or (features,). An Elman network has no gates that one operation would save."""
    if mode in ("LSTM", "GRU") and _is_one_operation(input, state, weights):
        return _run(mode, input, state, weights, input._array.shape[:-1] or (1,), False)[1]
    return STEPS[mode](weights.of_input(input), state, weights)


def _is_one_operation(input: Tensor, state: State, weights: Weights) -> bool:
    """Whether `_recurrence` computes it: floating-point tensors of one dtype, and no projection."""
    dtype = input._array.dtype
    if weights.weight_hr is not None or not _dtypes.is_floating(dtype):
        return False
    for part in (*state, weights.weight_ih, weights.weight_hh, weights.bias_ih, weights.bias_hh):  # `all` takes twice as long
        if part is not None and part._array.dtype != dtype:
            return False
    return True


def _run(mode: str, input: Tensor, state: State, weights: Weights, batch_sizes: tuple[int, ...], reverse: bool
         ) -> tuple[Tensor, State]:
    bias, inner = weights.bias_ih, weights.bias_hh
    if mode != "GRU" and bias is not None and inner is not None:  # both are added to the same gates
        bias, inner = bias + inner, None
    gates = linear(input, weights.weight_ih, bias)
    results = _recurrence(gates, weights.weight_hh, inner, state[0], state[1] if len(state) > 1 else None, mode=mode,
                          batch_sizes=batch_sizes, reverse=reverse)
    return results[0], results[1:1 + len(state)]


def _run_steps(step: Step, gates: Tensor, state: State, weights: Weights, batch_sizes: Sequence[int], reverse: bool
               ) -> tuple[Tensor, State]:
    """The steps one by one, with `gates` for what the input contributes to all of them."""
    (*times, width), shape = gates._array.shape, state[0]._array.shape
    if len(times) != 1 or len(shape) != 2:
        rows = tuple(part.reshape(batch_sizes[0], part._array.shape[-1]) for part in state)
        output, end = _run_steps(step, gates.reshape(sum(batch_sizes), width), rows, weights, batch_sizes, reverse)
        shaped = tuple(part.reshape(before._array.shape) for part, before in zip(end, state, strict=True))
        return output.reshape(*times, shape[-1]), shaped
    steps = list(zip(gates.split(list(batch_sizes)), batch_sizes, strict=True))
    outputs, start = [], state
    if reverse:
        state = tuple(part[:batch_sizes[-1]] for part in start)
        for gate, size in reversed(steps):
            if size > state[0].shape[0]:
                state = tuple(cat([part, first[part.shape[0]:size]]) for part, first in zip(state, start, strict=True))
            state = step(gate, state, weights)
            outputs.append(state[0])
        return cat(outputs[::-1]), state
    ended: list[State] = []
    for gate, size in steps:
        if size < state[0].shape[0]:
            ended.append(tuple(part[size:] for part in state))
            state = tuple(part[:size] for part in state)
        state = step(gate, state, weights)
        outputs.append(state[0])
    return cat(outputs), tuple(cat([*parts]) for parts in zip(state, *reversed(ended), strict=True))
