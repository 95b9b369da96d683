"""`check`: everything that an operation promises, against a reference in float64."""
from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import lucid

from ..autograd import gradcheck, gradgradcheck
from ..backends.gpu_probe import gpu_problem, simulated
from ..tensor import Tensor
from . import entry
from .operation import Operation

Shape = tuple[int, ...]
Input = Callable[[Shape], Any]
_TOLERANCES = {"float64": 1e-10, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
_MOST_DIFFERENCES = 64  # elements of the inputs whose gradients are compared with differences


class Report:
    """What `check` has looked at. `lines` says so in words.

    >>> from lucid import extension as ext
    >>> cube = ext.elementwise("x * x * x", name="cube")
    >>> isinstance(ext.check(cube, lambda x: x ** 3, shapes=[(3,)], devices=["cpu"]), ext.Report)
    True
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []

    def __repr__(self) -> str:
        return "\n".join([f"{self.name}: {len(self.lines)} checks passed", *[f"  {line}" for line in self.lines]])


class _Check:
    def __init__(self, operation: Any, reference: Callable[..., Any], inputs: Mapping[str, Any], scalars: Mapping[str, Any],
                 tolerances: Mapping[str, float], seed: int) -> None:
        self.operation, self.reference, self.inputs, self.scalars = operation, reference, dict(inputs), dict(scalars)
        self.schema, self.name = operation.schema, operation.name
        self.tolerances, self.random = {**_TOLERANCES, **tolerances}, np.random.default_rng(seed)
        unknown = [name for name in (*self.inputs, *tolerances) if name not in (*self.schema.inputs, *_TOLERANCES)]
        if unknown:
            raise ValueError(f"{self.schema} has no input '{unknown[0]}'")
        self.report = Report(self.name)

    # ---- arguments -------------------------------------------------------------------------------------------------
    def arrays(self, shape: Shape, dtype: Any) -> list[Any]:
        """Elements of the inputs, floating-point ones in `dtype`."""
        found: list[Any] = []
        for name in self.schema.inputs:
            made = self.inputs.get(name, shape)
            made = made(shape) if callable(made) else made
            if isinstance(made, (tuple, list)):
                made = self.random.standard_normal(tuple(made))
            if isinstance(made, Tensor):
                made = made.detach().cpu().numpy()
            made = None if made is None else np.asarray(made)
            found.append(made.astype(dtype) if made is not None and made.dtype.kind in "fV" else made)
        return found

    def expected(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        """What the reference says of these elements, in float64."""
        wide = [None if a is None else lucid.tensor(a.astype(np.float64) if a.dtype.kind in "fV" else a) for a in arrays]
        with lucid.no_grad():
            return [np.asarray(value) for value in _flat(self.reference(*wide, **self.scalars))]

    def run(self, tensors: Sequence[Any]) -> list[Tensor]:
        """The results, those that are written to inputs first."""
        with lucid.no_grad(), poisoned():
            results = _flat(self.operation(*tensors, **self.scalars))
        return [t for name, t in zip(self.schema.inputs, tensors, strict=True) if name in self.schema.written] + results

    # ---- parts -----------------------------------------------------------------------------------------------------
    def compare(self, what: str, results: Sequence[Tensor], expected: Sequence[np.ndarray], dtype: Any) -> None:
        """Raise AssertionError that says where and how much the results are wrong."""
        written = [name for name in self.schema.inputs if name in self.schema.written]
        names = [*written, *self.schema.outputs]
        if not len(results) == len(expected) == len(names):
            raise AssertionError(f"{self.name}: {what}: {len(results)} results, the reference has {len(expected)}, and the "
                                 f"signature {len(names)}")
        tolerance = self.tolerances[np.dtype(dtype).name]
        for name, result, right in zip(names, results, expected, strict=True):
            if tuple(result.shape) != right.shape:
                raise AssertionError(f"{self.name}: {what}: '{name}' has shape {list(result.shape)}, not {list(right.shape)}")
            found = result.detach().cpu().numpy()
            found = found.astype(np.float64) if found.dtype.kind in "fV" else found
            close = np.isclose(found, right, rtol=tolerance, atol=tolerance, equal_nan=True)
            if not close.all():
                at = tuple(int(i) for i in np.argwhere(~close)[0])
                raise AssertionError(f"{self.name}: {what}: '{name}' is wrong in {int((~close).sum())} of {close.size} elements: "
                                     f"at {list(at)} it is {found[at]!r}, and the reference {right[at]!r}")

    def values(self, shape: Shape, dtype: Any, device: str) -> None:
        """Values, that inputs stay as they are, fresh memory, strided inputs, NaN."""
        where = f"{list(shape)} of {np.dtype(dtype).name} on {device}"
        arrays = self.arrays(shape, dtype)
        expected = self.expected(arrays)
        for number, schedule in enumerate(schedules(device)):
            with schedule[1]:
                tensors: list[Any] = [None if a is None else lucid.tensor(a).to(device) for a in arrays]
                results = self.run(tensors)
                self.compare(f"values, {where}{schedule[0]}", results, expected, dtype)
            for name, array, tensor in zip(self.schema.inputs, arrays, tensors, strict=True):
                if array is not None and name not in self.schema.written and (
                        tensor.cpu().numpy().tobytes() != np.ascontiguousarray(array).tobytes()):
                    raise AssertionError(f"{self.name}: {where}: it writes to its input '{name}'")
            if number == 0:
                self._strided(where, arrays, expected, dtype, device)
                self._meta(where, tensors, results)
        self._nan(where, arrays, dtype, device)
        self.report.lines.append(f"values, strides, inputs unchanged, meta, NaN: {where}")

    def _strided(self, where: str, arrays: Sequence[Any], expected: Sequence[np.ndarray], dtype: Any, device: str) -> None:
        tensors: list[Any] = []
        for array in arrays:
            if array is None:
                tensors.append(None)
                continue
            spread = np.zeros([2 * length for length in array.shape], array.dtype)
            part = tuple([slice(None, None, 2)] * array.ndim)
            spread[part] = array
            tensors.append(lucid.tensor(spread).to(device)[part] if array.ndim else lucid.tensor(array).to(device))
        self.compare(f"strided inputs, {where}", self.run(tensors), expected, dtype)

    def _meta(self, where: str, tensors: Sequence[Any], results: Sequence[Tensor]) -> None:
        shapes = self.run([None if t is None else t.to("meta") for t in tensors])
        for found, right in zip(shapes, results, strict=True):
            if (found.shape, found.dtype) != (right.shape, right.dtype):
                raise AssertionError(f"{self.name}: {where}: on the device 'meta' the result is "
                                     f"{found.dtype}{list(found.shape)}, and on {right.device} {right.dtype}{list(right.shape)}")

    def _nan(self, where: str, arrays: Sequence[Any], dtype: Any, device: str) -> None:
        for place, array in enumerate(arrays):
            if array is not None and array.size and array.dtype.kind in "fV":
                holed = array.copy()
                holed.reshape(-1)[array.size // 2] = np.nan
                given = [*arrays[:place], holed, *arrays[place + 1:]]
                results = self.run([None if a is None else lucid.tensor(a).to(device) for a in given])
                for result, right in zip(results, self.expected(given), strict=True):
                    found = result.cpu().numpy()
                    if found.dtype.kind in "fV" and not np.array_equal(np.isnan(found.astype(np.float64)), np.isnan(right)):
                        raise AssertionError(f"{self.name}: {where}: a NaN in '{self.schema.inputs[place]}' goes elsewhere "
                                             "than in the reference")

    def gradients(self, shape: Shape, device: str, orders: int) -> None:
        """Gradients by differences in float64, and second ones; of a larger operation against those of the reference."""
        where = f"{list(shape)} on {device}"
        if isinstance(self.operation, Operation) and self.operation.derivative is None and self.operation.composed is None:
            self.report.lines.append(f"no gradients, as it has none: {where}")
            return
        arrays = self.arrays(shape, np.float64)
        smooth = [place for place, a in enumerate(arrays) if a is not None and a.dtype.kind == "f"]
        tensors: list[Any] = [None if a is None else lucid.tensor(a).to(device) for a in arrays]
        with lucid.enable_grad():
            for place in smooth:
                tensors[place].requires_grad_()
            first = _differentiable(self.operation(*tensors, **self.scalars))
        if not first:
            return

        def function(*given: Tensor) -> Any:
            return tuple(_differentiable(self.operation(*given, **self.scalars)))

        small = sum(arrays[place].size for place in smooth) <= _MOST_DIFFERENCES
        try:
            if small:
                gradcheck(function, tensors)
                if orders > 1:
                    gradgradcheck(function, tensors)
            else:
                self._gradients_of_reference(tensors, smooth)
        except RuntimeError as error:
            raise AssertionError(f"{self.name}: gradients, {where}: {error}") from error
        self.report.lines.append(f"gradients{' of two orders' * (small and orders > 1)} by "
                                 f"{'differences' if small else 'the reference'}: {where}")

    def _gradients_of_reference(self, tensors: Sequence[Any], smooth: Sequence[int]) -> None:
        results = _flat(self.operation(*tensors, **self.scalars))
        references = _flat(self.reference(*tensors, **self.scalars))
        kept = [n for n, result in enumerate(results) if result.requires_grad]
        seeds = [lucid.tensor(self.random.standard_normal(tuple(results[n].shape))).to(results[n].device) for n in kept]
        wanted = [tensors[place] for place in smooth]
        mine, right = (lucid.autograd.grad([of[n] for n in kept], wanted, seeds, allow_unused=True)
                       for of in (results, references))
        for place, found, other in zip(smooth, mine, right, strict=True):
            if (found is None) != (other is None) or (
                    found is not None and other is not None and not lucid.allclose(found, other, 1e-8, 1e-8)):
                raise RuntimeError(f"the gradient of '{self.schema.inputs[place]}' is not that of the reference")


def check(operation: Any, reference: Callable[..., Any] | None = None, shapes: Sequence[Shape] = ((4, 7), (0, 5), (3, 2, 33)), *,
          inputs: Mapping[str, Any] | None = None, scalars: Mapping[str, Any] | None = None, orders: int = 2,
          tolerances: Mapping[str, float] | None = None, devices: Sequence[str] | None = None, seed: int = 0) -> Report:
    """Check an operation of `op`, `elementwise` and the like against `reference`, a function of tensors with the same arguments.

    Values in each floating-point dtype that it takes, float16 and bfloat16 included, in memory full of NaN; that inputs stay as
    they are; strided and empty inputs; NaN; the device 'meta'; gradients of two `orders` against differences in float64; on the
    CPU and on the GPU. On the simulator under every schedule, which also finds races, missing barriers, and accesses outside of
    arrays.

    `shapes` are those of all inputs, but for those in `inputs`: a shape, an array, or a function of the shape that returns one of
    these, or None. An operation that writes its inputs is compared with a reference that returns what is in them afterwards, and
    then the outputs. `devices` are the CPU and, with CuPy or LUCID_GPU=simulated, the GPU. Raises AssertionError that says what
    is wrong, and SimulatorError.

    >>> from lucid import extension as ext
    >>> cube = ext.elementwise("x * x * x", name="cube")
    >>> report = ext.check(cube, lambda x: x ** 3, shapes=[(3,)], devices=["cpu"])
    >>> len(report.lines) > 0
    True
    """
    reference = reference or getattr(operation, "composed", None)
    if reference is None:
        raise TypeError(f"{operation.name}: there is nothing to compare with: give a reference")
    if devices is None:
        kernels = getattr(operation, "kernels", {"cpu": (), "gpu": ()})
        devices = [device for device in ("cpu", "gpu") if device in kernels and (device == "cpu" or gpu_problem() is None)]
        if not devices:
            raise RuntimeError(f"{operation.name} has a kernel for the GPU only, and {gpu_problem()}")
    own = getattr(operation, "dtypes", frozenset((lucid.float32, lucid.float64)))
    dtypes = sorted(own, key=lambda dtype: dtype.itemsize)
    if lucid.float32 in own and getattr(operation, "half", "upcast") != "refuse":
        dtypes += [lucid.float16, lucid.bfloat16]
    checks = _Check(operation, reference, inputs or {}, scalars or {}, tolerances or {}, seed)
    for device in devices:
        for number, shape in enumerate(shapes):
            for dtype in dtypes if number == 0 else dtypes[:1]:
                checks.values(tuple(shape), dtype, device)
            if orders and not checks.schema.written and lucid.float64 in own:
                checks.gradients(tuple(shape), device, orders)
    return checks.report


def schedules(device: str) -> list[tuple[str, Any]]:
    """The schedules that a kernel is run under on `device`, with words for messages."""
    if device != "gpu" or not simulated():
        return [("", contextlib.nullcontext())]
    from lucid_kernels import simulator

    return [(f", schedule {each.order} {each.seed}", simulator.schedule(each)) for each in simulator.SCHEDULES]


@contextlib.contextmanager
def poisoned() -> Iterator[None]:
    """Let the CPU's fresh memory be full of NaN, as the simulator's is: an element that a kernel does not write is seen."""
    before = entry.fresh
    entry.fresh = _full_of_nan
    try:
        yield
    finally:
        entry.fresh = before


def _full_of_nan(shape: Shape, dtype: Any) -> np.ndarray:
    return np.frombuffer(bytearray(b"\xff" * (math.prod(shape) * np.dtype(dtype).itemsize)), dtype).reshape(shape)


def _flat(results: Any) -> list[Any]:
    return [] if results is None else [results] if not isinstance(results, (tuple, list)) else list(results)


def _differentiable(results: Any) -> list[Any]:
    return [result for result in _flat(results) if result is not None and result.requires_grad]
