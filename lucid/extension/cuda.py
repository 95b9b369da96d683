"""CUDA sources as kernels: their arguments are found by name, typed as the source declares them."""
from __future__ import annotations

import inspect
import math
import os
import pathlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from lucid_kernels.cuda.runtime.ctype import ctype

from ..backends import versions
from .bindings import Bindings

Size = int | str | Callable[..., Any]
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_KERNEL = re.compile(r"(?:template\s*<(?P<template>[^>]*)>\s*)?(?:extern\s+\"C\"\s+)?__global__\s+"
                     r"(?:__launch_bounds__\s*\([^)]*\)\s*)?"
                     r"void\s+(?:__launch_bounds__\s*\([^)]*\)\s*)?(?P<name>\w+)\s*\((?P<arguments>[^)]*)\)")
_QUALIFIER = re.compile(r"\b(const|volatile|__restrict__|__restrict|restrict)\b")
_SCALARS: dict[str, Any] = {
    "bool": np.bool_, "char": np.int8, "signed char": np.int8, "unsigned char": np.uint8, "short": np.int16,
    "unsigned short": np.uint16, "int": np.int32, "unsigned int": np.uint32, "unsigned": np.uint32, "long long": np.int64,
    "unsigned long long": np.uint64, "size_t": np.uint64, "float": np.float32, "double": np.float64, "__half": np.float16,
    "__nv_bfloat16": ml_dtypes.bfloat16}


@dataclass(frozen=True)
class Argument:
    """One argument of a CUDA kernel."""

    name: str
    type: str
    pointer: bool
    constant: bool  # what it points to is only read


class CudaKernel:
    """A kernel in a CUDA source: `cuda` makes it."""

    def __init__(self, source: str, name: str, block: Size, grid: Size, shared: Size, options: tuple[str, ...], file: str
                 ) -> None:
        self.source, self.block, self.grid, self.shared, self.options, self.file = source, block, grid, shared, options, file
        self.function, _, given = name.replace(" ", "").partition("<")
        declared = {match["name"]: match for match in _KERNEL.finditer(_COMMENT.sub(" ", source))}
        if self.function not in declared:
            known = ", ".join(declared) or "none"
            raise ValueError(f"there is no __global__ function '{self.function}' in {file}; there is {known}")
        match = declared[self.function]
        self.arguments = [_argument(part) for part in match["arguments"].split(",") if part.strip()]
        parts = [part.split("=")[0].split() for part in (match["template"] or "").split(",") if part.strip()]
        self.parameters = tuple([part[-1] for part in parts])
        self.types = frozenset(part[-1] for part in parts if part[0] in ("typename", "class"))
        # By position: the name that is written for a parameter need not be its own.
        self.given = tuple(given.rstrip(">").split(",")) if given else self.parameters
        if len(self.given) > len(self.parameters):
            raise ValueError(f"'{name}' gives {len(self.given)} template arguments to a kernel that has {len(self.parameters)}")

    def __repr__(self) -> str:
        return f"cuda({self.file!r}, '{self.function}{'<' + ', '.join(self.given) + '>' if self.given else ''}')"

    def names(self) -> list[str]:
        """The names of its arguments."""
        return [argument.name for argument in self.arguments]

    def template(self, bindings: Bindings, block: int) -> tuple[str, dict[str, Any]]:
        """The name of the instance for these arrays, and the dtypes of its type parameters."""
        types: dict[str, Any] = {}
        for argument in self.arguments:
            array = bindings.arrays.get(argument.name) if argument.pointer else None
            if array is None:
                continue
            if argument.type in self.types:
                before = types.setdefault(argument.type, array.dtype)
                if before != array.dtype:
                    raise TypeError(f"op '{bindings.operation}': {argument.type} is {before} already, but '{argument.name}' is "
                                    f"{array.dtype}")
            elif argument.type != "void" and _SCALARS.get(argument.type) != array.dtype.type:
                raise TypeError(f"op '{bindings.operation}': its kernel takes '{argument.name}' as {argument.type}*, but it is "
                                f"{array.dtype}")
        parts = []
        for parameter, given in zip(self.parameters, self.given):  # noqa: B905 - further ones have defaults
            if parameter in self.types:
                if parameter not in types and given not in _SCALARS:
                    raise TypeError(f"op '{bindings.operation}': no array says what {parameter} is")
                parts.append(ctype(types[parameter]) if parameter in types else given)
            elif given.isdigit():
                parts.append(given)
            else:
                value = block if given in ("block", "BLOCK") and given not in bindings.scalars else bindings(given)
                parts.append(str(value).lower() if isinstance(value, bool) else str(value))
        return f"{self.function}<{', '.join(parts)}>" if parts else self.function, types

    def launch(self, bindings: Bindings) -> None:
        """Run it on the current stream. An empty grid runs nothing."""
        from lucid_kernels.cuda.runtime import launch

        block = _lengths(self.block, bindings)
        grid = (-(-self._elements(bindings) // block[0]),) if self.grid == "size" else _lengths(self.grid, bindings)
        if not math.prod(grid):
            return
        name, types = self.template(bindings, block[0])
        stand_in = next(array for array in bindings.arrays.values() if array is not None)
        arguments = []
        for argument in self.arguments:
            value = bindings(argument.name)
            if argument.pointer:
                arguments.append(stand_in if value is None else value)  # its `has_` argument says that it must not be read
            else:
                kind = types[argument.type].type if argument.type in types else _SCALARS[argument.type]
                arguments.append(kind(value))
        shared = self.shared if isinstance(self.shared, int) else _lengths(self.shared, bindings)[0]
        if any(a.pointer and not a.constant and a.name not in bindings.results for a in self.arguments):
            versions.all_written()
        launch.kernel_of_text(self.source, name, self.options)(grid, block, tuple(arguments), shared_mem=shared)

    def _elements(self, bindings: Bindings) -> int:
        """How many elements the array has that the kernel writes first, or its first one."""
        written = [a.name for a in self.arguments if a.pointer and bindings.arrays.get(a.name) is not None]
        outputs = [name for name in written if name in bindings.results]
        return int(bindings.arrays[(outputs or written)[0]].size)


def cuda(source: str | os.PathLike[str], name: str, *, block: Size = 256, grid: Size = "size", shared: Size = 0,
         options: tuple[str, ...] = ()) -> CudaKernel:
    """The kernel `name` of a CUDA source, for `op`.

    - `source` is CUDA text, or the path of a `.cu` file. ``#include "common.cuh"`` and lucid's other headers are found.
    - `name` is that of a ``__global__`` function. Its template's type parameters are the dtypes of the arrays that it takes as
      ``T*``; others are numbers: ``"forward<T, 4>"``, or named: ``block``, a scalar, or what else an argument can be called.
    - Arguments are found by their names (`lucid.extension.bindings`), and numbers get the type that the source declares.
    - `grid` is ``"size"``, a thread for each element of the first output; else the number of blocks: such a name (``"rows"``), a
      number, or a function of named arguments that returns one or up to three numbers. `block` and `shared`, the bytes of dynamic
      shared memory, alike.

    >>> from lucid import extension as ext
    >>> source = (
    ...     "template <typename T> __global__ void twice(const T* x, T* y, int n) {"
    ...     "  int i = blockIdx.x * blockDim.x + threadIdx.x;"
    ...     "  if (i < n) y[i] = 2 * x[i]; }")
    >>> ext.cuda(source, "twice")
    cuda('the source', 'twice<T>')
    """
    file = "the source"
    text = os.fspath(source)
    if isinstance(source, os.PathLike) or text.endswith((".cu", ".cuh")):
        file = pathlib.Path(text).name
        text = pathlib.Path(text).read_text(encoding="utf-8")
    return CudaKernel(text, name, block, grid, shared, options, file)


def _argument(text: str) -> Argument:
    plain = _QUALIFIER.sub(" ", text)
    words = plain.replace("*", " ").split()
    kind = " ".join(words[:-1])
    if plain.count("*") > 1 or "&" in plain or "[" in plain or len(words) < 2:
        raise ValueError(f"the argument '{text.strip()}' of a kernel is no array (T* x) and no number (int n)")
    return Argument(words[-1], kind, "*" in plain, re.search(r"\bconst\b[^*]*\*", text) is not None)


def _lengths(value: Any, bindings: Bindings) -> tuple[int, ...]:
    """Blocks of a grid, threads of a block or bytes, as numbers."""
    found = called(value, bindings) if callable(value) else bindings(value) if isinstance(value, str) else value
    return tuple(map(int, found)) if isinstance(found, (tuple, list)) else (int(found),)


def called(function: Callable[..., Any], bindings: Bindings) -> Any:
    """`function` of the arguments that it names."""
    return function(**{name: bindings(name) for name in inspect.signature(function).parameters})
