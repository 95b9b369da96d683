"""Recurrent layers, cells and packed sequences: values, gradients, state dicts, printing and errors beside PyTorch."""
from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import nn
from tests.nn.parity import numbers, same_as_torch

OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("RNN", {}), ("RNN", {"nonlinearity": "relu", "num_layers": 2, "bias": False}),
    ("RNN", {"bidirectional": True, "batch_first": True}),
    ("GRU", {}), ("GRU", {"num_layers": 2, "bidirectional": True, "bias": False, "batch_first": True}),
    ("LSTM", {}), ("LSTM", {"num_layers": 3, "bidirectional": True}), ("LSTM", {"bias": False, "batch_first": True}),
    ("LSTM", {"proj_size": 2, "num_layers": 2, "bidirectional": True}), ("LSTM", {"proj_size": 1, "bias": False}),
]
IDS = [f"{name}-{'-'.join(options)}" for name, options in OPTIONS]
GENERATOR = np.random.default_rng(0)


def flat(result: Any) -> tuple[Any, ...]:
    return tuple(tensor for part in result for tensor in (flat(part) if isinstance(part, tuple) else (part,)))


def states(name: str, options: dict[str, Any], *batch: int) -> list[np.ndarray]:
    layers = options.get("num_layers", 1) * (1 + options.get("bidirectional", False))
    sizes = [options.get("proj_size") or 4, 4] if name == "LSTM" else [4]
    return [GENERATOR.normal(size=(layers, *batch, size)) for size in sizes]


def make(library: Any, name: str, options: dict[str, Any]) -> Any:
    return getattr(library.nn, name)(3, 4, **options, dtype=library.float64)


@pytest.mark.torch
@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=IDS)
@pytest.mark.parametrize("with_state", [False, True])
def test_layers(name: str, options: dict[str, Any], with_state: bool, device: str) -> None:
    shape = (2, 5, 3) if options.get("batch_first") else (5, 2, 3)

    def script(library: Any, x: Any, *state: Any) -> Any:
        layer = make(library, name, options)
        given = (None if not state else state if name == "LSTM" else state[0])
        return layer, lambda: flat(layer(x, given))

    same_as_torch(script, GENERATOR.normal(size=shape), *(states(name, options, 2) if with_state else []), device=device)


@pytest.mark.torch
@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=IDS)
def test_without_a_batch(name: str, options: dict[str, Any], device: str) -> None:
    def script(library: Any, x: Any, *state: Any) -> Any:
        layer = make(library, name, options)
        return layer, lambda: flat([*layer(x), *layer(x, state if name == "LSTM" else state[0])])

    same_as_torch(script, GENERATOR.normal(size=(4, 3)), *states(name, options), device=device)


@pytest.mark.torch
@pytest.mark.parametrize(("name", "options"), OPTIONS, ids=IDS)
@pytest.mark.parametrize("enforce_sorted", [False, True])
def test_packed(name: str, options: dict[str, Any], enforce_sorted: bool, device: str) -> None:
    lengths = [5, 3, 3, 1] if enforce_sorted else [3, 5, 1, 3]
    batch_first = options.get("batch_first", False)

    def script(library: Any, x: Any, *state: Any) -> Any:
        layer = make(library, name, options)
        rnn = library.nn.utils.rnn

        def call() -> Any:
            packed = rnn.pack_padded_sequence(x, lengths, batch_first=batch_first, enforce_sorted=enforce_sorted)
            results = []
            for given in (None, state if name == "LSTM" else state[0]):
                output, end = layer(packed, given)
                padded, found = rnn.pad_packed_sequence(output, batch_first=batch_first, padding_value=-1.0, total_length=6)
                assert found.tolist() == lengths
                results += [padded, *flat([end])]
            return tuple(results)

        return layer, call

    shape = (4, 5, 3) if batch_first else (5, 4, 3)
    same_as_torch(script, GENERATOR.normal(size=shape), *states(name, options, 4), device=device)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["RNNCell", "LSTMCell", "GRUCell"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
def test_cells(name: str, bias: bool, batch: tuple[int, ...], device: str) -> None:
    def script(library: Any, x: Any, *state: Any) -> Any:
        cell = getattr(library.nn, name)(3, 4, bias=bias, dtype=library.float64)

        def call() -> Any:
            first, second = cell(x), cell(x, state if name == "LSTMCell" else state[0])
            return flat([first, second])

        return cell, call

    arrays = [GENERATOR.normal(size=(*batch, 4)) for _ in range(1 + (name == "LSTMCell"))]
    same_as_torch(script, GENERATOR.normal(size=(*batch, 3)), *arrays, device=device)


@pytest.mark.parametrize("name", ["LSTMCell", "GRUCell"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("batch", [0, 3])
def test_a_cell_is_one_step_of_its_layer(name: str, dtype: str, batch: int) -> None:
    """Its values and gradients, and gradients of those."""
    kind = getattr(lucid, dtype)
    layer, cell = getattr(nn, name.removesuffix("Cell"))(3, 4, dtype=kind), getattr(nn, name)(3, 4, dtype=kind)
    layer.load_state_dict({f"{key}_l0": value for key, value in cell.state_dict().items()})
    arrays = [GENERATOR.normal(size=(batch, size)) for size in (3, 4, 4)]
    found = []
    for module in (layer, cell):
        x, *parts = (lucid.tensor(array, dtype=kind, requires_grad=True) for array in arrays)
        state: Any = tuple(parts) if name == "LSTMCell" else parts[0]
        if module is layer:
            _, after = layer(x[None], tuple(part[None] for part in state) if name == "LSTMCell" else state[None])
            results = tuple(part[0] for part in after) if name == "LSTMCell" else (after[0],)
        else:
            results = flat([cell(x, state)])
        total = lucid.stack([(result * result).sum() for result in results]).sum()
        first = lucid.autograd.grad(total, [x, parts[0], *module.parameters()], create_graph=True)
        second = lucid.autograd.grad(lucid.stack([(g * g).sum() for g in first]).sum(), [x, *module.parameters()])
        found.append([tensor.detach().float().numpy() for tensor in (*results, *first, *second)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_cell_with_relu(device: str) -> None:
    def script(library: Any, x: Any) -> Any:
        cell = library.nn.RNNCell(3, 4, nonlinearity="relu", dtype=library.float64)
        return cell, lambda: cell(x)

    same_as_torch(script, GENERATOR.normal(size=(2, 3)), device=device)


PRINTED: list[Callable[[Any], Any]] = [
    lambda n: n.RNN(3, 4), lambda n: n.RNN(3, 4, 2, "relu", False, True, 0.5, True), lambda n: n.RNN(3, 4, nonlinearity="relu"),
    lambda n: n.LSTM(3, 4, 2, False, True, 0.1, True, 2), lambda n: n.LSTM(3, 4, proj_size=2), lambda n: n.LSTM(3, 4),
    lambda n: n.GRU(3, 4, num_layers=2, dropout=0.25), lambda n: n.GRU(3, 4, bias=False),
    lambda n: n.RNNCell(3, 4), lambda n: n.RNNCell(3, 4, False, "relu"), lambda n: n.LSTMCell(3, 4),
    lambda n: n.GRUCell(3, 4, False),
]


@pytest.mark.parametrize("make_layer", PRINTED)
def test_printing_names_and_shapes(make_layer: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = make_layer(nn), make_layer(torch.nn)
    assert repr(ours) == repr(theirs)
    assert [(k, tuple(v.shape)) for k, v in ours.state_dict().items()] == [
        (k, tuple(v.shape)) for k, v in theirs.state_dict().items()]
    assert [k for k, _ in ours.named_parameters()] == [k for k, _ in theirs.named_parameters()]
    if hasattr(theirs, "all_weights"):
        assert [[w.shape for w in ws] for ws in ours.all_weights] == [[tuple(w.shape) for w in ws] for ws in theirs.all_weights]
        assert (ours.mode, ours.dropout, ours.num_layers) == (theirs.mode, theirs.dropout, theirs.num_layers)


def outcome(library: Any, call: Callable[[Any], Any]) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call(library)
        except Exception as error:
            return type(error)
    return [w.category for w in caught]


ERRORS: list[Callable[[Any], Any]] = [
    lambda t: t.nn.LSTM(3, 4, dropout=2), lambda t: t.nn.LSTM(3, 4, dropout=True), lambda t: t.nn.LSTM(3, 4, dropout="x"),
    lambda t: t.nn.LSTM(3, 4, dropout=0.5), lambda t: t.nn.LSTM(3, 4.0), lambda t: t.nn.LSTM(3, 0), lambda t: t.nn.GRU(3, 4, 0),
    lambda t: t.nn.LSTM(3, 4, proj_size=-1), lambda t: t.nn.LSTM(3, 4, proj_size=4), lambda t: t.nn.GRU(3, 4, proj_size=2),
    lambda t: t.nn.RNN(3, 4, proj_size=2), lambda t: t.nn.RNN(3, 4, nonlinearity="elu"), lambda t: t.nn.RNNBase("X", 3, 4),
    lambda t: t.nn.RNN(3, 4)(t.ones(3)), lambda t: t.nn.RNN(3, 4)(t.ones(2, 2, 4)), lambda t: t.nn.RNN(3, 4)(t.ones(0, 2, 3)),
    lambda t: t.nn.RNN(3, 4)(t.ones(2, 2, 3), t.ones(2, 4)), lambda t: t.nn.RNN(3, 4)(t.ones(2, 3), t.ones(1, 1, 4)),
    lambda t: t.nn.RNN(3, 4)(t.ones(2, 2, 3), t.ones(1, 3, 4)),
    lambda t: t.nn.LSTM(3, 4)(t.ones(2, 2, 3), (t.ones(1, 2, 4), t.ones(1, 2, 3))),
    lambda t: t.nn.RNNCell(3, 4)(t.ones(2, 2, 3)),
    lambda t: t.nn.RNNCell(3, 4)(t.ones(2, 4)),
    lambda t: t.nn.GRUCell(3, 4)(t.ones(2, 3), t.ones(3, 4)),
    lambda t: t.nn.RNNCell(3, 4, nonlinearity="elu")(t.ones(2, 3)), lambda t: t.nn.RNNCell(3, 4, nonlinearity="elu"),
    lambda t: t.nn.LSTMCell(3, 4)(t.ones(3)), lambda t: t.nn.GRUCell(3, 4)(t.ones(2, 3), t.ones(2, 2, 2)),
    lambda t: t.nn.utils.rnn.pack_padded_sequence(t.ones(3, 2), [2, 3]),
    lambda t: t.nn.utils.rnn.pack_padded_sequence(t.ones(3, 2), [2, 0]),
    lambda t: t.nn.utils.rnn.pack_padded_sequence(t.ones(3, 2), [2]),
    lambda t: t.nn.utils.rnn.pad_sequence([]), lambda t: t.nn.utils.rnn.pad_sequence([t.ones(2, 3), t.ones(2, 2)]),
    lambda t: t.nn.utils.rnn.pad_sequence([t.ones(2)], padding_side="up"), lambda t: t.nn.utils.rnn.pad_sequence(3),
    lambda t: t.nn.utils.rnn.pad_packed_sequence(t.nn.utils.rnn.pack_sequence([t.ones(3)]), total_length=2),
]


@pytest.mark.torch
@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors_and_warnings(number: int) -> None:
    torch = pytest.importorskip("torch")
    assert outcome(lucid, ERRORS[number]) == outcome(torch, ERRORS[number])


def test_lengths_beyond_the_input_are_refused() -> None:
    with pytest.raises(RuntimeError, match="at most 3"):
        nn.utils.rnn.pack_padded_sequence(lucid.ones(3, 2), [4, 1])


def test_unpadding_leaves_its_argument_alone() -> None:
    padded = lucid.ones(3, 2)
    nn.utils.rnn.unpad_sequence(padded, lucid.tensor([3, 1]))
    assert padded.shape == (3, 2)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_padding_and_packing(batch_first: bool, dtype: str, device: str) -> None:
    torch = pytest.importorskip("torch")
    arrays = [GENERATOR.integers(0, 5, (length, 2)) for length in (2, 4, 1, 4)]
    found = []
    for library, keywords in ((lucid, {"device": device}), (torch, {})):
        rnn = library.nn.utils.rnn
        tensors = [library.tensor(a, **keywords).to(getattr(library, dtype)) for a in arrays]
        left = rnn.pad_sequence(tensors, batch_first, 1, padding_side="left")
        padded = rnn.pad_sequence(tensors, batch_first=batch_first)
        packed = rnn.pack_sequence(tensors, enforce_sorted=False)
        back = rnn.unpack_sequence(packed)
        unpadded = rnn.unpad_sequence(padded.clone(), library.tensor([2, 4, 1, 4]), batch_first=batch_first)
        found.append(numbers((left, padded, *packed, *back, *unpadded)))
        assert repr(packed).startswith("PackedSequence(data=")
        assert len(packed) == 4
    for mine, theirs in itertools.zip_longest(*found):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


def test_a_packed_sequence_moves(device: str) -> None:
    packed = nn.utils.rnn.pack_sequence([lucid.ones(1), lucid.ones(3)], enforce_sorted=False)
    assert packed.to("cpu") is packed
    moved = packed.to(device).double()
    assert moved.data.device == device and moved.data.dtype == lucid.float64
    assert moved.batch_sizes.device == "cpu"
    assert moved.sorted_indices is not None and moved.sorted_indices.device == device
    assert moved.is_cuda == (device == "gpu")
    assert not moved.cpu().is_cuda


def test_dropout_between_layers_only_in_training() -> None:
    layer = nn.LSTM(3, 4, num_layers=2, dropout=1.0)
    x = lucid.randn(5, 2, 3)
    dropped, kept = layer(x)[0], layer.eval()(x)[0]
    assert not lucid.allclose(dropped, kept)
    other = nn.LSTM(3, 4, num_layers=2)
    other.load_state_dict(layer.state_dict())
    assert lucid.equal(other(x)[0], kept)
    zeros = nn.LSTM(4, 4)
    second = {name.replace("l1", "l0"): value for name, value in layer.state_dict().items() if name.endswith("l1")}
    zeros.load_state_dict(second)
    assert lucid.allclose(zeros(lucid.zeros(5, 2, 4))[0], dropped)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("form", ["batch", "packed", "one sequence"])
def test_gradients_of_gradients(name: str, form: str, device: str) -> None:
    packed, batch = form == "packed", () if form == "one sequence" else (3,)
    if device == "gpu" and form != "batch":
        pytest.skip("the same operations as on the CPU, without kernels of their own")
    torch = pytest.importorskip("torch")
    arrays = [GENERATOR.normal(size=(4, *batch, 3)), GENERATOR.normal(size=(1, *batch, 4))]
    weights: dict[str, Any] = {}

    def second(library: Any, on: dict[str, Any]) -> list[np.ndarray]:
        layer = make(library, name, {})
        weights.update({} if weights else {key: value.detach().numpy() for key, value in layer.state_dict().items()})
        layer.load_state_dict({key: library.tensor(value) for key, value in weights.items()})
        layer = layer.to(**on) if on else layer
        x, state = (library.tensor(array, requires_grad=True, **on) for array in arrays)
        given = library.nn.utils.rnn.pack_padded_sequence(x, [4, 3, 1]) if packed else x
        # One tensor in two places of the state: its gradient is the sum.
        output, end = layer(given, (state, state) if name == "LSTM" else state)
        last = end[-1] if name == "LSTM" else end
        loss = (output.data if packed else output).square().sum() + last.sum() * 2
        parameters = [x, state, *layer.parameters()]
        first = library.autograd.grad(loss, parameters, create_graph=True)
        sum((g * g).sum() for g in first).backward()
        return [numbers(t) for t in (*first, *[parameter.grad for parameter in parameters])]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = second(torch, {})
    for got, want in zip(second(lucid, {"device": device}), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
def test_shapes_on_meta(name: str) -> None:
    layer = getattr(nn, name)(3, 4, num_layers=2, bidirectional=True, device="meta")
    output, state = layer(lucid.ones(5, 2, 3, device="meta", requires_grad=True))
    hidden = state[0] if name == "LSTM" else state
    assert output.shape == (5, 2, 8) and hidden.shape == (4, 2, 4) and output.is_meta
    output.sum().backward()
    assert all(parameter.grad.shape == parameter.shape for parameter in layer.parameters())


@pytest.mark.parametrize("name", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("shape", [(1, 3), (5, 3), (1, 1, 3), (5, 2, 3)], ids=str)
@pytest.mark.parametrize("options", [{}, {"num_layers": 2}, {"proj_size": 2}], ids=str)
def test_results_share_no_memory(name: str, shape: tuple[int, ...], options: dict[str, Any]) -> None:
    if "proj_size" in options and name != "LSTM":
        pytest.skip("only of an LSTM")
    layer = getattr(nn, name)(3, 4, **options)
    given = [lucid.randn(layer.num_layers, *shape[1:-1], size) for size in (options.get("proj_size", 4), 4)]
    results = flat(layer(lucid.randn(*shape), tuple(given) if name == "LSTM" else given[0]))
    for one, other in itertools.combinations([*results, *given], 2):
        assert not np.shares_memory(one.detach().numpy(), other.detach().numpy())
    before = [tensor.clone() for tensor in results[1:]]
    results[0].detach().zero_()
    assert all(map(lucid.equal, results[1:], before))


def test_an_output_that_is_written_is_not_needed_by_the_gradient() -> None:
    layer, x = nn.LSTM(3, 4), lucid.randn(5, 2, 3)
    gradients = []
    for write in (False, True):
        layer.zero_grad()
        output, _ = layer(x)
        total = output.mul_(2).sum() if write else (output * 2).sum()
        total.backward()
        gradients.append(layer.weight_hh_l0.grad)
    assert lucid.equal(*gradients)


@pytest.mark.parametrize("dtype", [lucid.float16, lucid.bfloat16], ids=str)
def test_half_precision(dtype: Any, device: str) -> None:
    layer = nn.GRU(3, 4).to(device, dtype)
    output, state = layer(lucid.ones(2, 2, 3, device=device, dtype=dtype))
    assert output.dtype == state.dtype == dtype


def test_training_a_recurrent_network_learns_to_count(device: str) -> None:
    """The parity of the ones so far: needs memory."""
    layer, head = nn.LSTM(1, 8).to(device), nn.Linear(8, 1).to(device)
    optimizer = lucid.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.05)
    bits = lucid.randint(0, 2, (4, 16, 1)).to(device).float()
    target = (bits.cumsum(0) % 2)
    losses = []
    for _ in range(40 if device == "cpu" else 3):
        loss = nn.functional.binary_cross_entropy_with_logits(head(layer(bits)[0]), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] * (0.8 if device == "cpu" else 1)


def test_signatures_are_real():
    from inspect import signature

    shared = "input_size hidden_size num_layers bias batch_first dropout bidirectional".split()
    assert list(signature(nn.LSTM).parameters) == [*shared, "proj_size", "device", "dtype"]
    assert list(signature(nn.GRU).parameters)[:9] == [*shared, "device", "dtype"]
    assert list(signature(nn.RNN).parameters)[:10] == [*shared[:3], "nonlinearity", *shared[3:], "device", "dtype"]
    layer = nn.RNN(3, 4, 2, "relu", False, True, 0.0, True, dtype=lucid.float64)
    assert (layer.bias, layer.batch_first, layer.bidirectional, layer.weight_ih_l0.dtype) == (False, True, True, lucid.float64)
