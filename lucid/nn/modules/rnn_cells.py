"""Single steps of recurrent networks: RNNCell, LSTMCell, GRUCell."""
from __future__ import annotations

import math
from typing import Any

from ...ops.creation.creation import empty
from ...ops.nn.recurrent import State, Weights, run_step
from ...tensor import Tensor
from .. import init
from ..parameter import Parameter
from .module import Module


class RNNCellBase(Module):
    """What the cells share: `weight_ih` (gates * hidden_size, input_size), `weight_hh` (gates * hidden_size, hidden_size), and
    `bias_ih`, `bias_hh` (gates * hidden_size,) or None, uniformly distributed within 1 / sqrt(hidden_size) at first.
    """

    _mode: str

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
                 ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(empty((rows, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def extra_repr(self) -> str:
        """Sizes; what has its default is left out."""
        text = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            text += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _step(self, input: Tensor, state: Any) -> State:
        """The state after `input`; None is a state of zeros."""
        name = type(self).__name__
        given = tuple(input._array.shape)
        if len(given) not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {len(given)}D instead")
        if given[-1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {given[-1]} expected {self.input_size}")
        shape = (*given[:-1], self.hidden_size)
        if state is None:
            parts: State = (input.new_zeros(shape),) * (2 if self._mode == "LSTM" else 1)
        else:
            parts = tuple(state) if self._mode == "LSTM" else (state,)
        for number, part in enumerate(parts):
            if part._array.shape == shape:
                continue
            if part.ndim not in (1, 2):
                raise ValueError(f"{name}: Expected hx[{number}] to be 1D or 2D, got {part.ndim}D instead")
            if part.shape != shape:
                raise RuntimeError(f"hidden{number} of shape {list(part.shape)} does not fit the input: expected {list(shape)}")
        return run_step(self._mode, input, parts, Weights(*self._tensors("weight_ih", "weight_hh", "bias_ih", "bias_hh")))


class RNNCell(RNNCellBase):
    """One step of `RNN`: ``tanh(weight_ih @ x + bias_ih + weight_hh @ h + bias_hh)``, or ``nonlinearity='relu'``.

    Raises RuntimeError in the call for another nonlinearity, and for shapes that do not fit.
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    @property
    def _mode(self) -> str:  # type: ignore[override]
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return f"RNN_{self.nonlinearity.upper()}"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """(batch, input_size) and (batch, hidden_size), zeros by default, to (batch, hidden_size); or all without a batch."""
        return self._step(input, hx)[0]


class LSTMCell(RNNCellBase):
    """One step of `LSTM`, with a state (h, c)."""

    _mode = "LSTM"

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """(batch, input_size) and (h, c), each (batch, hidden_size), zeros by default, to the next (h, c)."""
        hidden, cell = self._step(input, hx)
        return hidden, cell


class GRUCell(RNNCellBase):
    """One step of `GRU`."""

    _mode = "GRU"

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """(batch, input_size) and (batch, hidden_size), zeros by default, to (batch, hidden_size); or all without a batch."""
        return self._step(input, hx)[0]
