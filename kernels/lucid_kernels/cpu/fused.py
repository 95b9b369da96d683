"""Formulas in one pass over memory: Numba functions written and compiled for each `Program`.

A program becomes two functions: a serial loop over flat arrays, which LLVM vectorises, and a parallel kernel that hands it
chunks (`_chunked.py`), or rows where arguments broadcast. Numbers in the formula are arguments of both, so another number
needs no new compilation. The kernel is named after its source text, by which the cache on disk finds it again.
"""
from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from numpy.lib.stride_tricks import as_strided

from lucid_kernels.expression import Part, Program, Step, plan

from . import _chunked, _formula_math, _math
from ._address import address_of
from ._compile import jit_interleaved, jit_strict
from ._layout import SHORTEST_ROW, Array, contiguous, deliver, outputs, result, row_chunk, row_pitch
from ._pool import SMALLEST
from ._streaming import streams

# How the operations of a program are written; {0}, {1} and {2} are the operands.
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
          "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
# One element at a time.
_LIBM = {"sinh": "sinh", "cosh": "cosh", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh",
         "arccosh": "acosh", "arctanh": "atanh"}
_TEMPLATES = {
    **{name: f"{{0}} {symbol} {{1}}" for name, symbol in _INFIX.items()},
    **{name: f"math.{function}({{0}})" for name, function in _LIBM.items()},
    **{name: f"_math.{name}({{0}})" for name in ("exp", "tanh", "sigmoid", "gauss", "normal_cdf")},
    **{name: f"_formula_math.{name}({{0}})" for name in _formula_math.UNARY},
    **{name: f"_formula_math.{name}({{0}}, {{1}})" for name in ("maximum", "minimum", "power", "fmod", "hypot")},
    "neg": "-{0}", "abs": "abs({0})", "sqrt": "math.sqrt({0})",
    "arctan2": "math.atan2({0}, {1})", "copysign": "math.copysign({0}, {1})", "bitwise_invert": "~{0}",
    "where": "{1} if {0} else {2}", "cast": "{0}",
}  # fmt: skip
_INTEGER = {"maximum": "max({0}, {1})", "minimum": "min({0}, {1})"}
_GLOBALS = {"__name__": __name__, "numba": numba, "np": np, "math": math, "_math": _math, "_formula_math": _formula_math,
            "row_chunk": row_chunk}  # fmt: skip
Pairs = tuple[tuple[str, str], ...]  # names of arguments and of the results that are the same arrays
_kernels: dict[str, Callable[..., None]] = {}


def fused(*arrays: Array, program: Program, out: Any = None) -> Any:
    """The outputs of `program`, broadcast; one array, or a tuple if there are several.

    Half-precision numbers are computed in float32, and rounded once at the end. `out` may be
    arguments.
    """
    count = len(program.dtypes)
    parts = plan(program, tuple([() if array is None else array.shape for array in arrays]), SHORTEST_ROW)
    if out is None and len(parts) == 1 and not program.rounds:  # nothing is left to do with the results
        results = _run(parts[0], arrays, None)
        return tuple(results) if count > 1 else results[0]
    given, results = outputs(out if count > 1 else (out,), count), [None] * count
    for part in parts:
        computed = _run(part, arrays, [given[place] for place in part.places])
        for place, array in zip(part.places, computed, strict=True):
            dtype, target = program.dtypes[place], given[place]
            rounded = array if array.dtype is dtype or array.dtype == dtype else array.astype(dtype)
            results[place] = rounded if target is None else deliver(target, rounded)
    return tuple(results) if count > 1 else results[0]


def _run(part: Part, arrays: Sequence[Array], out: Sequence[Array | None] | None) -> list[Any]:
    program, _, shape, layout, operands = part
    outer, inner, kinds, _ = layout
    small = outer * inner * 8 < SMALLEST  # these take most of their time around the loop
    if outer == 1 and not small and out is None:
        found = _parts(arrays, operands, shape)
        if found is not None:
            return _run_parts(part, arrays, *found)
    fresh = out is None or all(given is None for given in out)
    if small and fresh:
        results = [np.empty(shape, dtype) for dtype in program.output_dtypes]
    else:
        targets = outputs(out, len(program.outputs))
        results = [result(given, shape, dtype) for given, dtype in zip(targets, program.output_dtypes, strict=True)]
    if not outer * inner:
        return results
    rows = (outer, inner) if outer > 1 else (-1,)
    arguments: list[Any] = []
    for number, dtype, kind, expanded in operands:
        array = arrays[number] if expanded is None else np.broadcast_to(arrays[number], expanded)
        if array.dtype is not dtype and array.dtype != dtype:
            array = array.astype(dtype, order="C")
        arguments.append(array.ravel() if outer == 1 or kind != "F" else contiguous(array).reshape(rows))
    streamed, replaced = _writing(arguments, kinds, results, fresh, small) if outer == 1 else (False, ())
    key = kinds, outer > 1, streamed, replaced
    kernel = program.kernels.get(key)
    if kernel is None:
        kernel = program.kernels[key] = _kernel(source(program, *key))
    # A flat array is its own row: `reshape` takes as long as the kernel takes for a hundred elements.
    arguments += program.constants
    kernel(*arguments, *(results if len(shape) == 1 and outer == 1 else [array.reshape(rows) for array in results]))
    return results


def _parts(arrays: Sequence[Array], operands: Sequence[Any], shape: tuple[int, ...]) -> tuple[int, dict[int, int]] | None:
    """The length of the rows of those arguments that are parts of other arrays, and for each of them the elements from one
    row to the next; None where all are contiguous, and where copies of them have to be read.
    """
    parts = [number for number, _, kind, _ in operands if kind == "F" and not arrays[number].flags.c_contiguous]
    if not parts or any(kind == "F" and (expanded is not None or arrays[number].shape != shape or arrays[number].dtype != dtype)
                        for number, dtype, kind, expanded in operands):
        return None
    rows = [_row(arrays[number]) for number in parts]
    inner = min(rows)
    pitches = {number: row_pitch(arrays[number], inner) for number in parts} if inner >= SHORTEST_ROW else {}
    return (inner, pitches) if pitches and min(pitches.values()) >= 0 else None


def _row(x: Array) -> int:
    """The elements of `x` that are next to each other in its rows."""
    length, dim = 1, x.ndim
    while dim and (x.shape[dim - 1] == 1 or x.strides[dim - 1] == length * x.itemsize):
        dim -= 1
        length *= x.shape[dim]
    return length


def _run_parts(part: Part, arrays: Sequence[Array], inner: int, pitches: dict[int, int]) -> list[Any]:
    """`_run` for parts of arrays, which are read row by row where they lie."""
    program = part.program
    results = [result(None, part.shape, dtype) for dtype in program.output_dtypes]
    rows = results[0].size // inner, inner
    arguments, kinds = list[Any](), ""
    for number, dtype, kind, _ in part.operands:
        array, pitch = arrays[number], pitches.get(number)
        if pitch is None:
            kinds += kind
            arguments.append(array.astype(dtype, copy=False).reshape(rows if kind == "F" else -1))
        else:  # all memory from the first element to the last one
            kinds += "P"
            arguments.append(as_strided(array, ((rows[0] - 1) * pitch + inner,), (array.itemsize,)))
    key = kinds, True, False, ()
    kernel = program.kernels.get(key)
    if kernel is None:
        kernel = program.kernels[key] = _kernel(source(program, *key))
    kernel(*arguments, *program.constants, *pitches.values(), *[array.reshape(rows) for array in results])
    return results


def _writing(arguments: Sequence[Array], kinds: str, results: Sequence[Array], fresh: bool, small: bool) -> tuple[bool, Pairs]:
    """How a loop over arrays of one length writes: whether it streams large new results, and which arguments are results."""
    if not fresh:
        written = {address_of(array): f"y{place}" for place, array in enumerate(results)}
        places = [(f"x{place}", written.get(address_of(array))) for place, array in enumerate(arguments) if kinds[place] == "F"]
        return False, tuple([(argument, result) for argument, result in places if result is not None])
    dtype = results[0].dtype
    streamed = not small and dtype.char in "fd" and all(array.dtype == dtype for array in results)
    return streamed and streams(sum(array.nbytes for array in (*arguments, *results)), *results), ()


def _kernel(text: str) -> Callable[..., None]:
    """The compiled kernel of a text; programs with the same text share it."""
    kernel = _kernels.get(text)
    if kernel is None:
        kernel = _kernels[text] = _compile(text)
    return kernel


def _compile(text: str) -> Callable[..., None]:
    """The kernel of the functions `loop` and `kernel` in `text`, which get names of their own for the cache on disk."""
    name = f"fused_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    scope: dict[str, Any] = dict(_GLOBALS)
    loop, kernel = text.split("\n\n")
    # Named after this file, whose sources the cache looks at to know whether its entries are still good.
    exec(compile(loop, __file__, "exec"), scope)
    # Each operation is rounded, as one by one: a product that joins a sum unrounded would turn inf - inf into inf.
    scope["loop"], scope["inlined"] = jit_interleaved(scope["loop"], strict=True), jit_strict(scope["loop"], inline=True)
    return _chunked.compile_source(kernel.replace("def kernel(", f"def {name}("), name, __file__, scope)


def source(program: Program, kinds: str, rows: bool, streamed: bool = False, replaced: Pairs = ()) -> str:
    """The Python text of a kernel for arguments of these `kinds` (see `Layout`), with rows, or as `_chunked.source` says.

    Of the kind P are rows of a larger array: of its memory as a flat array, with their distance as another argument.

    Arguments that are `replaced` are read by the names of those results, so that LLVM sees that an element depends on no other.
    """
    inputs, constants = [f"x{i}" for i in range(len(kinds))], [f"k{i}" for i in range(len(program.constants))]
    results = [f"y{i}" for i in range(len(program.outputs))]
    parameters = [*inputs, *constants, *results]
    lines = [f"def loop({', '.join(parameters)}):"]
    lines += [f"    k{i} = np.{dtype.type.__name__}(k{i})" for i, dtype in enumerate(program.constant_dtypes)]
    lines += [f"    e{x} = {x}[0]" for x, kind in zip(inputs, kinds, strict=True) if kind in "CS"]
    lines += [f"    for i in range({results[0]}.shape[0]):"]
    names = dict(replaced)
    lines += [f"        e{x} = {names.get(x, x)}[i]" for x, kind in zip(inputs, kinds, strict=True) if kind in "FRP"]
    lines += [f"        {step.name} = {_expression(step)}" for step in program.steps]
    lines += [f"        {y}[i] = {_element(name)}" for y, name in zip(results, program.outputs, strict=True)]
    if not rows:
        whole = [x for x, kind in zip(inputs, kinds, strict=True) if kind == "F"]
        return "\n".join([*lines, "", _chunked.source("kernel", parameters, whole, results, streamed)])
    taken = {"F": "{0}[r]", "R": "{0}", "C": "{0}[r : r + 1]", "S": "{0}", "P": "{0}[r * p{0} : r * p{0} + inner]"}
    passed = [*[taken[kind].format(x) for x, kind in zip(inputs, kinds, strict=True)], *constants, *[f"{y}[r]" for y in results]]
    pitches = [f"p{x}" for x, kind in zip(inputs, kinds, strict=True) if kind == "P"]
    lines += ["", f"def kernel({', '.join([*inputs, *constants, *pitches, *results])}):",
              f"    rows, inner = {results[0]}.shape", "    step = row_chunk(inner)",
              "    for c in numba.prange((rows + step - 1) // step):",
              "        for r in range(c * step, min(rows, (c + 1) * step)):",
              f"            loop({', '.join(passed)})"]  # fmt: skip
    return "\n".join(lines) + "\n"


def _element(name: str) -> str:
    return f"e{name}" if name[0] == "x" else name


def _expression(step: Step) -> str:
    """The right-hand side of a step, of exactly its dtype: Numba would make int64 of two int32."""
    template = _TEMPLATES[step.operation]
    if step.operation in _INTEGER and step.dtype.kind != "f":
        template = _INTEGER[step.operation]
    text = template.format(*map(_element, step.operands))
    natural = step.dtype.kind == "b" or (step.dtype.kind == "f" and step.operation != "cast")
    return text if natural else f"np.{step.dtype.type.__name__}({text})"
