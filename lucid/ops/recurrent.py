"""Recurrent networks: the steps of an Elman network, an LSTM (Hochreiter and Schmidhuber 1997) and a GRU (Cho et al. 2014), and
their run over a sequence. Composed of other operations, so gradients of any order come with them.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

from ..tensor import Tensor
from .activation import relu, sigmoid, tanh
from .joining import cat, stack
from .linear_algebra import linear

State = tuple[Tensor, ...]  # (h,), for an LSTM (h, c), each (batch, features)
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


def run_direction(step: Step, input: Tensor, state: State, weights: Weights, batch_sizes: Sequence[int] | None,
                  reverse: bool) -> tuple[Tensor, State]:
    """Run over a sequence, from its end if `reverse`: the hidden states of all steps, laid out as `input`, and the last state.

    `input` is (time, batch, features), or with `batch_sizes` (sum of them, features): at time t the first ``batch_sizes[t]``
    sequences, which never get more, go on. The state of a sequence that has ended stays as it was then; from the end, a
    sequence joins at its last element.
    """
    gates = weights.of_input(input)
    if batch_sizes is None:
        if input.shape[0] == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        outputs: list[Tensor] = []
        for gate in reversed(gates.unbind(0)) if reverse else gates.unbind(0):
            state = step(gate, state, weights)
            outputs.append(state[0])
        return stack(outputs[::-1] if reverse else outputs), state
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
