"""`export`: writes a model to an ONNX file."""
from __future__ import annotations

import dataclasses
import inspect
import os
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import IO, Any

import numpy as np

from .. import __version__ as _version
from .._pytree import tree_flatten, tree_unflatten
from ..autograd import no_grad
from ..nn.modules.module import Module
from ..serialization.output_file import written_at
from ..tensor import Tensor, wrap
from . import elementwise, layers, recurrent, reductions, shapes, writes
from .errors import ExportError
from .graph import EMITTERS, Graph, TrackedAttributes
from .library import element_type, library
from .runs import Length, merge
from .tracing import Event, Ref, Trace, evaluating, refs

__all__ = ["elementwise", "export", "layers", "recurrent", "reductions", "shapes", "writes"]

#: Attributes that say how a kernel computes, or what the shape or dtype of the result says too.
_WITHOUT_EFFECT = {"with_grad", "winners", "momentum", "message", "low", "high", "padding_idx", "dtype", "input_shape", "lengths",
                   "output_size", "axes"}
#: Kernels of which operands are checked only, or read before another one.
_READ_OTHERWISE = ("check_bounds", "check_nonzero", "recurrence")
_STEP = 34  # more than what most images are reduced by
_LARGEST = 2_000_000_000  # bytes: a file of Protocol Buffers has no more than 2 GiB
#: Of each run a and b: a dynamic length n becomes a * n + b there. A plan has a row for each length, and a model that takes no
#: length of the first plan, as one with a limit or one that halves images, may take those of another.
_PLANS = (
    # Far apart, so that a length behind strides differs, and of mixed parity, so that what is rounded shows.
    (((1, 0), (1, 1), (2, 1), (3, 2)), ((1, 0), (2, 1), (1, 2), (3, 1)), ((1, 0), (1, 3), (3, 1), (2, 3)),
     ((1, 0), (3, 2), (2, 3), (1, 1))),
    (((1, 0), (1, 1), (1, 3), (1, 6)), ((1, 0), (1, 3), (1, 1), (1, 4)), ((1, 0), (1, 2), (1, 5), (1, 1)),
     ((1, 0), (1, 4), (1, 6), (1, 3))),
    (((1, 0), (2, 0), (3, 0), (5, 0)), ((1, 0), (3, 0), (2, 0), (4, 0)), ((1, 0), (2, 0), (5, 0), (3, 0)),
     ((1, 0), (4, 0), (3, 0), (2, 0))),
    (((1, 0), (1, -1), (1, -2), (1, -3)), ((1, 0), (1, -2), (1, -1), (1, -4)), ((1, 0), (1, -3), (1, -2), (1, -1))),
)


_exporting: ContextVar[bool] = ContextVar("lucid_onnx_exporting", default=False)


def is_in_onnx_export() -> bool:
    """Whether `export` calls the model now.

    >>> lucid.onnx.is_in_onnx_export()
    False
    """
    return _exporting.get()


def export(model: Module, args: Any = (), f: str | os.PathLike[str] | IO[bytes] | None = None, *,
           kwargs: Mapping[str, Any] | None = None, input_names: Sequence[str] | None = None,
           output_names: Sequence[str] | None = None, opset_version: int = 18,
           dynamic_axes: Mapping[str, Any] | None = None, dynamic_shapes: Any = None) -> Any:
    """Write `model` to the file `f` as a graph of ONNX, and return it; the names of the arguments are PyTorch's.

    ::

        x = lucid.randn(1, 3, 224, 224)
        lucid.onnx.export(model, (x,), "model.onnx", input_names=["image"], output_names=["scores"],
                          dynamic_axes={"image": {0: "batch"}, "scores": {0: "batch"}})

    The model is called in evaluation mode, some times, with `args` (a tensor or a tuple) and `kwargs`, and with other elements
    and other lengths of the dynamic axes: tensors among them are the inputs of the graph, everything else is fixed. Axes are
    named by `dynamic_axes`, ``{name: {axis: length}}`` or ``{name: [axes]}``, or by `dynamic_shapes`, the same by the names of
    arguments or in their order; equal names are one length, all others are fixed.

    A length in the graph is what it was in those calls: the length of some tensor, or a sum or product of such; code that treats
    much longer inputs than these in another way is not seen. Where calls differ otherwise, as where Python reads an element
    (`if x > 0`), where a number depends on the elements, and where ONNX has no operator, `ExportError` names the line.

    >>> model = lucid.onnx.export(nn.Linear(2, 3), (lucid.ones(1, 2),))
    >>> model.graph.node[0].op_type
    'Gemm'
    """
    if not isinstance(model, Module):
        raise TypeError(f"expected a Module, not {type(model).__name__}")
    library()
    if opset_version < 18:
        raise ValueError(f"opset_version must be at least 18, not {opset_version}")
    args = args if isinstance(args, tuple) else (args,)
    leaves, spec = tree_flatten((args, dict(kwargs or {})))
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    if not places:
        raise ValueError("args and kwargs hold no tensor")
    defaults = _argument_names(model, args, kwargs or {})
    names = list(defaults)
    if input_names is not None:
        if len(input_names) > len(names):
            raise ValueError(f"input_names has {len(input_names)} names for {len(names)} tensors")
        names[:len(input_names)] = input_names
    if len(set(names)) < len(names):
        raise ValueError(f"two inputs have one name: {names}")
    if dynamic_axes is not None and dynamic_shapes is not None:
        raise ValueError("dynamic_axes and dynamic_shapes say the same: give one of them")
    given = dynamic_axes if dynamic_shapes is None else dynamic_shapes
    axes, output_axes = _dynamic(given, names, defaults, [leaves[place].ndim for place in places])
    traces = _traces(model, [leaves[place] for place in places], axes,
                     lambda tensors: _call(model, leaves, spec, places, tensors))
    proto = _written(traces, names, output_names, axes, output_axes, opset_version, type(model).__name__)
    if f is not None:
        _save(proto, f)
    return proto


# ---- inputs --------------------------------------------------------------------------------------------------------------
def _argument_names(model: Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[str]:
    """A name for each tensor: that of the argument, with numbers for several in one."""
    parameters = inspect.signature(model.forward).parameters.values()
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    spare = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "input")
    found = []
    for place, value in enumerate(args):
        found.append((positional[place] if place < len(positional) else f"{spare}_{place - len(positional)}", value))
    names = []
    for name, value in [*found, *kwargs.items()]:
        count = sum(isinstance(leaf, Tensor) for leaf in tree_flatten(value)[0])
        names += [name] if count == 1 else [f"{name}_{number}" for number in range(count)]
    return names


Axes = list[dict[int, str]]  # of each input: the names of its dynamic lengths


def _dynamic(given: Any, names: list[str], defaults: list[str], ranks: list[int]) -> tuple[Axes, dict[str, dict[int, str]]]:
    """The names of the dynamic lengths of inputs, and those that are given for outputs."""
    axes: Axes = [{} for _ in names]
    outputs: dict[str, dict[int, str]] = {}
    if given is None:
        return axes, outputs
    entries = dict(given) if isinstance(given, Mapping) else dict(zip(names, given, strict=False))
    for key, value in entries.items():
        named = dict(value) if isinstance(value, Mapping) else {} if value is None else {
            axis: f"{key}_dynamic_axes_{number}" for number, axis in enumerate(value, 1)}
        named = {axis: str(getattr(name, "__name__", name)) for axis, name in named.items() if name is not None}
        place = names.index(key) if key in names else defaults.index(key) if key in defaults else None
        if place is None:
            outputs[key] = named
            continue
        for axis, name in named.items():
            if not -ranks[place] <= axis < ranks[place]:
                raise ValueError(f"the input {key!r} has no axis {axis}, only {ranks[place]} dimensions")
            axes[place][axis % ranks[place]] = name
    return axes, outputs


# ---- runs ----------------------------------------------------------------------------------------------------------------
def _call(model: Module, leaves: list[Any], spec: Any, places: list[int], tensors: Sequence[Tensor]) -> Any:
    filled = list(leaves)
    for place, tensor in zip(places, tensors, strict=True):
        filled[place] = tensor
    args, kwargs = tree_unflatten(filled, spec)
    token = _exporting.set(True)
    try:
        return model(*args, **kwargs)
    finally:
        _exporting.reset(token)


def _traces(model: Module, inputs: list[Tensor], axes: Axes, call: Callable[[Sequence[Tensor]], Any]) -> list[Trace]:
    """Runs of other elements and lengths. Those of the first plan that the model takes."""
    lengths: dict[str, int] = {}
    for tensor, named in zip(inputs, axes, strict=True):
        for axis, name in named.items():
            if lengths.setdefault(name, tensor.shape[axis]) != tensor.shape[axis]:
                raise ValueError(f"the length {name!r} is {lengths[name]} of one input and {tensor.shape[axis]} of another")
    if len(lengths) > len(_PLANS[0]):
        raise ValueError(f"at most {len(_PLANS[0])} lengths can be dynamic, not {', '.join(map(repr, lengths))}")
    state = dict(model.named_parameters()) | dict(model.named_buffers())
    with evaluating(model), no_grad():
        error: Exception | None = None
        for changed in _lengths(lengths):
            try:
                return [_traced(_varied(inputs, axes, run, number), state, call) for number, run in enumerate(changed)]
            except ExportError:
                raise
            except Exception as raised:
                if not lengths:
                    raise
                error = error or raised
        raise ExportError(f"the model does not take other lengths of {', '.join(map(repr, lengths))}: {error}. Have two lengths "
                          "that must be equal one name?") from error


def _lengths(given: dict[str, int]) -> Iterator[list[dict[str, int]]]:
    """The lengths of the runs, by plans."""
    if not given:
        yield [{}, {}]
        return
    for rows in _PLANS:
        if len(given) <= len(rows):
            columns = [_changed(max(length, 2), row) for row, length in zip(rows, given.values(), strict=False)]
            if all(length > 1 for column in columns for length in column):
                yield [dict(zip(given, run, strict=True)) for run in zip(*columns, strict=True)]


def _changed(length: int, row: Sequence[tuple[int, int]]) -> list[int]:
    """A length in each run. Twice and three times as many of a large one would take long."""
    return [a * length + b if length <= _STEP or row in _PLANS[2] else length + (a - 1) * _STEP + b for a, b in row]


def _varied(inputs: list[Tensor], axes: Axes, lengths: dict[str, int], run: int) -> list[Tensor]:
    """The inputs with these lengths: elements are repeated, and in later runs other ones stand in each place."""
    generator = np.random.default_rng(run)
    found = []
    for tensor, named in zip(inputs, axes, strict=True):
        array = tensor.detach().numpy(force=True)
        for axis, name in named.items():
            array = np.take(array, np.arange(lengths[name]) % array.shape[axis], axis)
        array = array.copy()
        if run:
            array = generator.permutation(array.reshape(-1)).reshape(array.shape)
            if array.dtype.kind == "f":  # other ones, also of zeros, and probabilities stay some
                array = (array * (1 - 0.03 * run) + 0.01 * run).astype(array.dtype)
        found.append(wrap(array))
    return found


def _traced(inputs: list[Tensor], state: dict[str, Tensor], call: Callable[[Sequence[Tensor]], Any]) -> Trace:
    trace = Trace(inputs, state)
    result = trace.run(lambda: call(inputs))
    leaves = [leaf for leaf in tree_flatten(result)[0] if leaf is not None]
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise ExportError(f"the model returns a {type(leaf).__name__}; a graph returns tensors")
    trace.outputs = [trace.output(leaf) for leaf in leaves]
    trace.release()
    return trace


# ---- the file ------------------------------------------------------------------------------------------------------------
def _written(traces: list[Trace], names: list[str], output_names: Sequence[str] | None, axes: Axes,
             output_axes: dict[str, dict[int, str]], opset_version: int, title: str) -> Any:
    onnx = library()
    values, events = merge(traces)
    outputs = list(output_names or [])
    if len(outputs) > len(traces[0].outputs):
        raise ValueError(f"output_names has {len(outputs)} names for {len(traces[0].outputs)} tensors")
    outputs += [f"output_{number}" if len(traces[0].outputs) > 1 else "output"
                for number in range(len(outputs), len(traces[0].outputs))]
    if len({*names, *outputs}) < len(names) + len(outputs):
        raise ValueError(f"two inputs or outputs have one name: {[*names, *outputs]}")
    if output_axes.keys() - set(outputs):
        raise ValueError(f"dynamic axes of {sorted(output_axes.keys() - set(outputs))}, but the names are {[*names, *outputs]}")
    graph = Graph(values, events, [*names, *outputs])
    graph.used = {ref.value for event in events for ref in refs((event.operands, event.attributes))} | set(traces[0].outputs)
    for number, name in enumerate(names):
        graph.set(number, name)
    wanted = _needed(events, traces[0].outputs, values)
    for event in events:
        if id(event) in wanted:
            graph.line = event.line
            _write(graph, event)
    for number, name in zip(traces[0].outputs, outputs, strict=True):
        graph.nodes.append(onnx.helper.make_node("Identity", [graph.name(Ref(number))], [name]))
    symbols = {lengths.runs: name for number, named in enumerate(axes) for axis, name in named.items()
               if isinstance(lengths := values[number].shape[axis], Length)}

    def described(name: str, number: int, named: dict[int, str]) -> Any:
        shape = [named.get(axis) or (symbols.get(length.runs) or f"{name}_{axis}" if isinstance(length, Length) else length)
                 for axis, length in enumerate(values[number].shape)]
        return onnx.helper.make_tensor_value_info(name, element_type(values[number].dtype), shape)

    made = onnx.helper.make_graph(
        graph.nodes, title, [described(name, number, axes[number]) for number, name in enumerate(names)],
        [described(name, number, output_axes.get(name, {})) for number, name in zip(traces[0].outputs, outputs, strict=True)],
        [onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
         for name, array in _used(graph).items()])
    opset = onnx.helper.make_opsetid("", opset_version)
    proto = onnx.helper.make_model(made, opset_imports=[opset], producer_name="lucid", producer_version=_version,
                                   ir_version=onnx.helper.find_min_ir_version_for([opset]))
    if sum(array.nbytes for array in graph.initializers.values()) < _LARGEST:
        onnx.checker.check_model(proto, full_check=True)
    return proto


def _needed(events: list[Event], outputs: list[int], values: Any) -> set[int]:
    """The calls, by id, whose results lead to the outputs and are no constants."""
    wanted, found = set(outputs), set()
    for event in reversed(events):
        if any(number in wanted and values[number].constant is None for number in event.results if number is not None):
            found.add(id(event))
            wanted |= {ref.value for ref in refs((event.operands, event.attributes))}
    return found


def _write(graph: Graph, event: Event) -> None:
    emitter = EMITTERS.get(event.kernel)
    if emitter is None:
        raise ExportError(f"{event.line}: the operation '{event.kernel}' cannot be exported to ONNX")
    attributes = TrackedAttributes(event.attributes)
    graph.asked.clear()
    names = emitter(graph, dataclasses.replace(event, attributes=attributes))
    unread = attributes.keys() - attributes.read - _WITHOUT_EFFECT
    unread |= {f"operand {place}" for place, operand in enumerate(event.operands)
               if isinstance(operand, Ref) and operand.value not in graph.asked and event.kernel not in _READ_OTHERWISE}
    if unread:  # an option that is new here: never left out silently
        raise ExportError(f"{event.line}: '{event.kernel}' with {', '.join(sorted(unread))} cannot be exported to ONNX")
    for number, name in zip(event.results, names, strict=True):
        if number is not None and name is not None:
            graph.set(number, name)


def _used(graph: Graph) -> dict[str, np.ndarray]:
    """The initializers that nodes read."""
    read = {name for node in graph.nodes for name in node.input}
    return {name: array for name, array in graph.initializers.items() if name in read}


def _save(proto: Any, f: str | os.PathLike[str] | IO[bytes]) -> None:
    if not isinstance(f, (str, os.PathLike)):
        f.write(proto.SerializeToString())
        return
    path = pathlib.Path(f)
    if sum(tensor.ByteSize() for tensor in proto.graph.initializer) < _LARGEST:
        with written_at(path) as file:
            file.write(proto.SerializeToString())
    else:  # the weights beside it, in a new file: to one that is there they would be added
        path.with_name(f"{path.name}.data").unlink(missing_ok=True)
        library().save_model(proto, str(path), save_as_external_data=True, location=f"{path.name}.data")
