"""The kernels of an operation as entries of the dispatcher's tables: shapes, contiguous memory, half precision, results."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..backends.half_precision import HALVES
from ..backends.meta.array import MetaArray, blank
from .bindings import Bindings
from .cuda import CudaKernel, called
from .schema import Schema

Array = Any
Spec = tuple[tuple[int, ...], np.dtype]  # shape and dtype
Rule = str | Callable[..., Any]  # the name of an input, or a function that returns a shape, or (shape, dtype)


class Layout:
    """The shapes and dtypes of what an operation makes: its outputs, and the workspace of its kernels."""

    def __init__(self, schema: Schema, like: Rule | Mapping[str, Rule] | None, workspace: Mapping[str, Rule],
                 zeros: Sequence[str]) -> None:
        self.schema, self.workspace, self.zeros = schema, dict(workspace), frozenset(zeros)
        default = schema.inputs[0] if like is None or isinstance(like, Mapping) else like
        given = dict(like) if isinstance(like, Mapping) else {}
        self.rules = {name: given.pop(name, default) for name in schema.outputs}
        if given:
            raise ValueError(f"{schema}: like names {', '.join(given)}, which are no outputs")
        for name in self.workspace:
            if name in (*schema.inputs, *schema.outputs, *schema.scalars):
                raise ValueError(f"{schema}: the workspace has the name '{name}' of an argument or output")
        for name in self.zeros - {*self.rules, *self.workspace}:
            raise ValueError(f"{schema}: zeros names '{name}', which is neither an output nor workspace")
        for rule in (*self.rules.values(), *self.workspace.values()):
            if isinstance(rule, str) and rule not in schema.inputs:
                raise ValueError(f"{schema}: like names '{rule}', which is no input")

    def outputs(self, bindings: Bindings) -> list[Spec | None]:
        """Of each output; None of one that is like an optional input that is not given."""
        return [self._spec(rule, bindings) for rule in self.rules.values()]

    def work(self, bindings: Bindings) -> dict[str, Spec | None]:
        """Of each piece of the workspace."""
        return {name: self._spec(rule, bindings) for name, rule in self.workspace.items()}

    def _spec(self, rule: Rule, bindings: Bindings) -> Spec | None:
        first = bindings.arrays[bindings.first]
        if isinstance(rule, str):
            array = bindings.arrays[rule]
            return None if array is None else (tuple(array.shape), array.dtype)
        found = called(rule, bindings)
        if found is None:
            return None
        shape, dtype = found if len(found) == 2 and isinstance(found[0], (tuple, list)) else (found, first.dtype)
        return tuple(map(int, shape)), np.dtype(dtype)


class Entry:
    """An entry of the table of one device: ``entry(*arrays, **scalars)`` returns an array, a tuple of them or None."""

    def __init__(self, schema: Schema, layout: Layout, kernels: Sequence[Any], *, upcast: bool, contiguous: bool) -> None:
        self.schema, self.layout, self.kernels, self.upcast, self.contiguous = schema, layout, kernels, upcast, contiguous
        self.__name__ = schema.name
        self.__qualname__ = schema.name

    def __call__(self, *arrays: Array, **scalars: Any) -> Any:
        named = dict(zip(self.schema.inputs, arrays, strict=True))
        first, kind, upcast = "", None, False
        for name, array in named.items():
            if array is not None:
                if kind is None:
                    first, kind = name, array.__class__
                elif array.__class__ is not kind:
                    raise RuntimeError(f"op '{self.schema.name}' got arrays of several devices")
                if array.dtype.char in "eE":  # in a tenth of the time of looking in HALVES
                    upcast = self.upcast
        bindings = Bindings(self.schema.name, first, named, scalars, self.schema.outputs)
        specs = self.layout.outputs(bindings)
        memory = _OnCpu if kind is np.ndarray else _OnGpu
        ready: dict[str, Array] = {}
        for name, array in named.items():
            if array is not None:
                if upcast and array.dtype in HALVES:
                    array = array.astype(np.float32)
                if self.contiguous or kind is not np.ndarray:
                    array = memory.contiguous(array)
            ready[name] = array
        bindings.arrays = ready
        made = zip(self.layout.rules, specs, strict=True)
        for name, spec in [*made, *self.layout.work(bindings).items()] if self.layout.workspace else made:
            ready[name] = None if spec is None else memory.make(
                spec[0], np.dtype(np.float32) if upcast and spec[1] in HALVES else spec[1], name in self.layout.zeros)
        for kernel in self.kernels:
            kernel(bindings)
        for name in self.schema.written:
            if ready[name] is not named[name]:
                memory.write(named[name], ready[name])
        results = tuple([None if spec is None else ready[name] if not upcast else ready[name].astype(spec[1], copy=False)
                         for name, spec in zip(self.schema.outputs, specs, strict=True)])
        return None if not results else results[0] if len(results) == 1 else results


class MetaEntry(Entry):
    """The entry for the device 'meta': shapes and dtypes."""

    def __call__(self, *arrays: Array, **scalars: Any) -> Any:
        named = dict(zip(self.schema.inputs, arrays, strict=True))
        for array in arrays:
            if array is not None and array.__class__ is not MetaArray:
                raise RuntimeError(f"op '{self.schema.name}' got an array on the device 'meta' and one on another device")
        first = next(name for name, array in named.items() if array is not None)
        specs = self.layout.outputs(Bindings(self.schema.name, first, named, scalars))
        results = tuple([None if spec is None else blank(*spec) for spec in specs])
        return None if not results else results[0] if len(results) == 1 else results


fresh: Callable[..., Array] = np.empty  # what makes the results of CPU kernels; `check` puts another function there


class _OnCpu:
    """Where CPU kernels get their arrays from."""

    @staticmethod
    def contiguous(array: Array) -> Array:
        return array if array.flags.c_contiguous else np.ascontiguousarray(array)

    @staticmethod
    def make(shape: tuple[int, ...], dtype: Any, zeros: bool) -> Array:
        return np.zeros(shape, dtype) if zeros else fresh(shape, dtype)

    @staticmethod
    def write(target: Array, source: Array) -> None:
        target[...] = source


class _OnGpu:
    """Where CUDA kernels get theirs from."""

    @staticmethod
    def contiguous(array: Array) -> Array:
        from lucid_kernels.cuda.runtime import launch

        return launch.contiguous(array)

    @staticmethod
    def make(shape: tuple[int, ...], dtype: Any, zeros: bool) -> Array:
        from lucid_kernels.cuda.runtime import launch

        array = launch.empty(shape, dtype)
        if zeros:
            launch.fill(array, 0)
        return array

    @staticmethod
    def write(target: Array, source: Array) -> None:
        from lucid_kernels.cuda.runtime import recording

        recording.unrepeatable()
        target[...] = source


def as_kernel(function: Any, schema: Schema, layout: Layout, last: bool) -> Callable[[Bindings], None]:
    """What calls a kernel with its arguments by name. Raises TypeError for one whose arguments have other names.

    A Python or Numba function, the last one of the operation, that takes no output returns its result, or a tuple of them.
    """
    if isinstance(function, CudaKernel):
        names = function.names()
    else:
        inner = getattr(function, "py_func", function)
        parameters = inspect.signature(inner).parameters.values()
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
            raise TypeError(f"{schema}: the arguments of {inner.__qualname__} have no names")
        names = [parameter.name for parameter in parameters]
    arrays = dict.fromkeys((*schema.inputs, *schema.outputs, *layout.workspace))
    known = Bindings(schema.name, schema.inputs[0], arrays, schema.scalars)
    for name in names:
        if not known.has(name):
            raise TypeError(f"{schema}: {known.unknown(name)}")
    if isinstance(function, CudaKernel):
        return function.launch
    returns = last and bool(schema.outputs) and not set(names) & set(schema.outputs)

    def call(bindings: Bindings) -> None:
        results = function(*[bindings(name) for name in names])
        if returns:
            results = results if isinstance(results, tuple) else (results,)
            if len(results) != len(schema.outputs):
                raise RuntimeError(f"op '{schema.name}': its kernel returned {len(results)} results for "
                                   f"{len(schema.outputs)} outputs")
            for name, result in zip(schema.outputs, results, strict=True):
                expected = bindings.arrays[name]
                if expected is None or result is None:
                    if expected is not result:
                        raise RuntimeError(f"op '{schema.name}': its kernel returned no '{name}', or one too many")
                elif result.shape != expected.shape:
                    raise RuntimeError(f"op '{schema.name}': its kernel returned '{name}' of shape {list(result.shape)}, and "
                                       f"its shape rule says {list(expected.shape)}")
                elif isinstance(result, np.generic) or result.dtype != expected.dtype:
                    bindings.arrays[name] = np.asarray(result, expected.dtype) if isinstance(result, (
                        np.generic, np.ndarray)) else result.astype(expected.dtype)
                else:
                    bindings.arrays[name] = result

    return call
