"""Recurrent layers over whole sequences: RNN, LSTM, GRU; and single steps: RNNCell, LSTMCell, GRUCell."""
from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Iterator
from typing import Any

from ...ops.creation.creation import empty
from ...ops.nn.recurrent import State, Weights, run_direction, run_layers, run_step
from ...tensor import Tensor
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """What the recurrent layers share; see `LSTM` for shapes.

    Layer k has the parameters ``weight_ih_lk`` (gates * hidden_size, features of its input), ``weight_hh_lk`` (gates *
    hidden_size, hidden_size), with `bias` also ``bias_ih_lk`` and ``bias_hh_lk`` (gates * hidden_size,), and with `proj_size`
    ``weight_hr_lk`` (proj_size, hidden_size); those of the opposite direction end with ``_reverse``. All start uniformly
    distributed within 1 / sqrt(hidden_size). Raises ValueError or TypeError for sizes that make no network.

    >>> layer = nn.RNNBase("GRU", 8, 16, num_layers=2)
    >>> [name for name, _ in layer.named_parameters()][:4]
    ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0']
    """

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(f"dropout should be a number in range [0, 1], the probability of an element to be zeroed: {dropout}")
        if dropout > 0 and num_layers == 1:
            warnings.warn(f"dropout={dropout} has no effect with num_layers=1: it acts on the output of every layer but the "
                          "last", stacklevel=2)
        if not isinstance(hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(hidden_size).__name__}")
        for name, value, least in (("hidden_size", hidden_size, 1), ("num_layers", num_layers, 1), ("proj_size", proj_size, 0)):
            if value < least:
                raise ValueError(f"{name} must be at least {least}, got {value}")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        rows = _GATES[mode] * hidden_size
        for layer, suffix in self._runs():
            features = input_size if layer == 0 else self._out_size * self._directions
            shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, features), "weight_hh": (rows, self._out_size)}
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)} if bias else {}
            shapes |= {"weight_hr": (proj_size, hidden_size)} if proj_size else {}
            for name, shape in shapes.items():
                setattr(self, name + suffix, Parameter(empty(shape, device=device, dtype=dtype)))
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _out_size(self) -> int:
        return self.proj_size or self.hidden_size

    def _runs(self) -> Iterator[tuple[int, str]]:
        """Pairs (layer, end of its parameters' names), one for each direction."""
        for layer in range(self.num_layers):
            for end in ("", "_reverse")[:self._directions]:
                yield layer, f"_l{layer}{end}"

    def _names(self, suffix: str) -> list[str]:
        names = ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if self.bias else []),
                 *(["weight_hr"] if self.proj_size else [])]
        return [name + suffix for name in names]

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The parameters, a list for each direction of each layer."""
        return [[getattr(self, name) for name in self._names(suffix)] for _, suffix in self._runs()]

    @property
    def _all_weights(self) -> list[list[str]]:
        return [self._names(suffix) for _, suffix in self._runs()]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._flat_weights_names]

    def flatten_parameters(self) -> None:
        """Does nothing: there is no layout of parameters that runs faster. Here for code that calls it."""

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, input: Tensor | PackedSequence, hx: Any = None) -> tuple[Any, Any]:
        """(output, state after the last step); see `LSTM`."""
        if isinstance(input, PackedSequence):
            return self._of_packed(input, hx)
        shape = input._array.shape
        if len(shape) not in (2, 3):
            raise ValueError(f"{type(self).__name__}: Expected input to be 2D or 3D, got {len(shape)}D instead")
        self._require_features(shape)
        if len(shape) == 2:  # one sequence, whose steps are rows: nothing gets a dimension that it loses again
            sequence, state = self._run(input, self._state(input, hx, ()), (1,) * shape[0])
            return sequence, self._shown(state)
        sequence, (batch, time) = (input.transpose(0, 1), shape[:2]) if self.batch_first else (input, shape[1::-1])
        sequence, state = self._run(sequence, self._state(input, hx, (batch,)), (batch,) * time)
        return (sequence.transpose(0, 1) if self.batch_first else sequence), self._shown(state)

    def _of_packed(self, packed: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        self._require_features(packed.data._array.shape)
        batch_sizes = tuple(packed.batch_sizes.tolist())
        state = self._state(packed.data, hx, batch_sizes[:1])
        if packed.sorted_indices is not None and hx is not None:
            state = tuple(part[:, packed.sorted_indices] for part in state)
        sequence, state = self._run(packed.data, state, batch_sizes)
        if packed.unsorted_indices is not None:
            state = tuple(part[:, packed.unsorted_indices] for part in state)
        return packed._replace(data=sequence), self._shown(state)

    def _require_features(self, shape: tuple[int, ...]) -> None:
        if shape[-1] != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {shape[-1]}")

    def _state(self, input: Tensor, hx: Any, batch: tuple[int, ...]) -> State:
        """The state before the first step: each part (layers * directions, *batch, features), of one sequence without `batch`."""
        sizes = (self._out_size, self.hidden_size) if self.mode == "LSTM" else (self._out_size,)
        layers = self.num_layers * self._directions
        if hx is None:
            return tuple([input.new_zeros((layers, *batch, size)) for size in sizes])
        state: State = tuple(hx) if self.mode == "LSTM" else (hx,)
        for number, (part, size) in enumerate(zip(state, sizes, strict=True)):
            expected, given = (layers, *batch, size), part._array.shape
            if len(given) != len(expected):
                kind = "batched 3-D" if batch else "unbatched 2-D"
                raise RuntimeError(f"For {kind} input, hx should also be {len(expected)}-D but got {len(given)}-D tensor")
            if given != expected:
                raise RuntimeError(f"Expected hidden[{number}] size {expected}, got {list(given)}")
        return state

    def _run(self, sequence: Tensor, state: State, batch_sizes: tuple[int, ...]) -> tuple[Tensor, State]:
        if self.num_layers * self._directions == 1:
            return run_direction(self.mode, sequence, state, self._weights("_l0"), batch_sizes, reverse=False)
        weights = [self._weights(suffix) for _, suffix in self._runs()]
        p = self.dropout if self.training else 0
        return run_layers(self.mode, sequence, state, weights, batch_sizes, self._directions, p)

    def _weights(self, suffix: str) -> Weights:
        """Those of one direction of one layer, whose parameters' names have this end."""
        weight_ih, weight_hh, *more = self._tensors(*self._names(suffix))
        biases, projection = (more[:2], more[2:]) if self.bias else ([None, None], more)
        return Weights(weight_ih, weight_hh, *biases, *projection)

    def _shown(self, state: State) -> Any:
        return state if self.mode == "LSTM" else state[0]

    def extra_repr(self) -> str:
        """Sizes; what has its default is left out."""
        shown = [str(self.input_size), str(self.hidden_size)]
        for name, default in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0),
                              ("bidirectional", False)):
            if getattr(self, name) != default:
                shown.append(f"{name}={getattr(self, name)}")
        return ", ".join(shown)


def _refuse_projection(size: Any) -> None:
    if size is not None:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """An Elman network: ``h = tanh(weight_ih @ x + bias_ih + weight_hh @ h + bias_hh)``, or ``nonlinearity='relu'``.

    Takes and gives what `LSTM` does, with a state of one tensor h. Raises ValueError for another nonlinearity.

    >>> layer = nn.RNN(8, 16, nonlinearity="relu")
    >>> output, h = layer(lucid.randn(5, 4, 8))  # (time, batch, features)
    >>> output.shape, h.shape
    (lucid.Size([5, 4, 16]), lucid.Size([1, 4, 16]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: Any = None,
                 dtype: Any = None, *, proj_size: None = None) -> None:
        _refuse_projection(proj_size)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first, dropout,
                         bidirectional, 0, device, dtype)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """A long short-term memory: ``c = f * c + i * g``, ``h = o * tanh(c)``, with gates i, f, g, o of input and h.

    ``output, (h_n, c_n) = lstm(input, (h_0, c_0))``: `input` is (time, batch, input_size), with `batch_first` (batch, time,
    input_size), without a batch (time, input_size), or a `PackedSequence`. `output` has the same form with the features of h
    in the last layer, those of the reverse direction behind those of the forward one. States are (num_layers * directions,
    batch, features), zeros by default; h has `hidden_size` features, or `proj_size` if that is positive. `dropout` acts on
    the outputs of all layers but the last. Raises ValueError and RuntimeError for tensors of other shapes.

    >>> layer = nn.LSTM(8, 16, batch_first=True, bidirectional=True)
    >>> output, (h, c) = layer(lucid.randn(4, 5, 8))
    >>> output.shape, h.shape, c.shape
    (lucid.Size([4, 5, 32]), lucid.Size([2, 4, 16]), lucid.Size([2, 4, 16]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: Any = None
                 ) -> None:
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size,
                         device, dtype)


class GRU(RNNBase):
    """A gated recurrent unit: ``h = (1 - z) * n + z * h``, with gates r, z, n and ``n = tanh(... + r * (weight_hn @ h + b))``.

    Takes and gives what `LSTM` does, with a state of one tensor h.

    >>> layer = nn.GRU(8, 16, num_layers=2, batch_first=True)
    >>> output, h = layer(lucid.randn(4, 5, 8))
    >>> output.shape, h.shape
    (lucid.Size([4, 5, 16]), lucid.Size([2, 4, 16]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
                 dropout: float = 0.0, bidirectional: bool = False, device: Any = None, dtype: Any = None, *,
                 proj_size: None = None) -> None:
        _refuse_projection(proj_size)
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)


class RNNCellBase(Module):
    """What the cells share: `weight_ih` (gates * hidden_size, input_size), `weight_hh` (gates * hidden_size, hidden_size), and
    `bias_ih`, `bias_hh` (gates * hidden_size,) or None, uniformly distributed within 1 / sqrt(hidden_size) at first.

    >>> cell = nn.RNNCellBase(8, 16, bias=True, num_chunks=3)
    >>> cell.weight_ih.shape, cell.weight_hh.shape
    (lucid.Size([48, 8]), lucid.Size([48, 16]))
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

    >>> cell, h = nn.RNNCell(8, 16), lucid.zeros(4, 16)
    >>> for x in lucid.randn(5, 4, 8):
    ...     h = cell(x, h)
    >>> h.shape
    lucid.Size([4, 16])
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
    """One step of `LSTM`, with a state (h, c).

    `input` is (N, input_size) or (input_size,), h and c are (N, hidden_size) or (hidden_size,), by default zeros.

    >>> cell, state = nn.LSTMCell(8, 16), None
    >>> for x in lucid.randn(5, 4, 8):
    ...     state = cell(x, state)
    >>> state[0].shape, state[1].shape
    (lucid.Size([4, 16]), lucid.Size([4, 16]))
    """

    _mode = "LSTM"

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """(batch, input_size) and (h, c), each (batch, hidden_size), zeros by default, to the next (h, c)."""
        hidden, cell = self._step(input, hx)
        return hidden, cell


class GRUCell(RNNCellBase):
    """One step of `GRU`.

    `input` is (N, input_size) or (input_size,), the state (N, hidden_size) or (hidden_size,), by default zeros.

    >>> cell, h = nn.GRUCell(8, 16), lucid.zeros(4, 16)
    >>> for x in lucid.randn(5, 4, 8):
    ...     h = cell(x, h)
    >>> h.shape
    lucid.Size([4, 16])
    """

    _mode = "GRU"

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """(batch, input_size) and (batch, hidden_size), zeros by default, to (batch, hidden_size); or all without a batch."""
        return self._step(input, hx)[0]
