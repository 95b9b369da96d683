"""Formulas in one pass over memory: Numba functions written and compiled for each `Program`.

A program becomes two functions: a serial loop over flat arrays, which LLVM vectorises, and a parallel kernel that hands it
chunks (`arrays/loops.py`), or rows where arguments broadcast. Scalars in the formula are arguments of both, so another scalar
needs no new compilation. The kernel is named after its source text, by which the cache on disk finds it again.

Half-precision elements are converted in registers, where they are read and written: a kernel gets their bits. Only where the
processor does not convert float16 are there arrays of float32 before and after it.
"""
from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numba
import numpy as np

from lucid_kernels.expression import Part, Program, plan

from ..arrays import half_precision
from ..arrays import loops as arrays_loops
from ..arrays.broadcast import distinct, materialized, repeats
from ..arrays.layout import (
    HALVES,
    Array,
    common_rows,
    contiguous,
    deliver,
    outputs,
    result,
    rows_of_a_chunk,
)
from ..math import basic as math_basic
from ..math import elementary, inverse
from ..runtime import tuning
from ..runtime.allocator import SMALLEST, empty
from ..runtime.jit import jit_interleaved, jit_strict
from ..simd.address import address_of
from ..simd.nontemporal import streams
from .source import TEMPLATES, element, steps

_TEMPLATES = {
    **TEMPLATES,
    **{name: f"_formula_math.{name}({{0}})" for name in elementary.UNARY},
    **{name: f"_formula_arcs.{name}({{0}})" for name in inverse.UNARY},
    **{name: f"_formula_math.{name}({{0}}, {{1}})" for name in ("maximum", "minimum", "power", "fmod", "hypot")},
    "sqrt": "math.sqrt({0})", "arctan2": "_formula_arcs.arctan2({0}, {1})", "copysign": "math.copysign({0}, {1})",
    "bitwise_invert": "~{0}",
    "as_float16": "half_precision.extended(half_precision.rounded({0}))",
    "as_bfloat16": "half_precision.extended_from_bfloat16(half_precision.rounded_to_bfloat16({0}))",
}  # fmt: skip
_GLOBALS = {"__name__": __name__, "numba": numba, "np": np, "math": math, "_math": math_basic, "_formula_arcs": inverse,
            "_formula_math": elementary, "half_precision": half_precision}
# Arrays of the dtypes that kernels read, to say which one is at an address.
_GLOBALS |= {f"like_{name}": np.empty(0, name)
             for name in "bool uint8 int8 int16 uint16 int32 uint32 int64 uint64 float32 float64".split()}
# How half-precision elements are read and written, for a kernel that gets their bits.
_READ = {"float16": "half_precision.extended({0})", "bfloat16": "half_precision.extended_from_bfloat16({0})"}
_WRITTEN = {"float16": "half_precision.rounded({0})", "bfloat16": "half_precision.rounded_to_bfloat16({0})"}
_BITS = np.dtype(np.uint16)
Pairs = tuple[tuple[str, str], ...]  # names of arguments and of the results that are the same arrays
_kernels: dict[str, Callable[..., None]] = {}


def fused(*arrays: Array, program: Program, out: Any = None) -> Any:
    """The outputs of `program`, broadcast; one array, or a tuple if there are several.

    Half-precision elements are computed in float32, and rounded once at the end. `out` may be
    arguments.
    """
    count = len(program.dtypes)
    if out is None:
        results = _run_alike(arrays, program)
        if results is not None:
            return tuple(results) if count > 1 else results[0]
    parts = plan(program, tuple([() if array is None else array.shape for array in arrays]), tuning.SHORTEST_ROW)
    if out is None:
        for array in arrays:
            if array is not None and not array.flags.c_contiguous and _are_large(parts[0]) and any(map(repeats, arrays)):
                return _of_distinct(arrays, program)
    if out is None and len(parts) == 1:
        results = _run(parts[0], arrays, None)
        if program.rounds:
            results = list(map(_as_stored, results, program.dtypes))
        return tuple(results) if count > 1 else results[0]
    given, results = outputs(out if count > 1 else (out,), count), [None] * count
    for part in parts:
        targets = [_bits(given[place]) for place in part.positions]
        computed = _run(part, arrays, targets)
        for place, array, memory in zip(part.positions, computed, targets, strict=True):
            target = given[place]
            if target is None:
                results[place] = _as_stored(array, program.dtypes[place])
            else:
                results[place] = target if array is memory else deliver(target, _as_stored(array, program.dtypes[place]))
    return tuple(results) if count > 1 else results[0]


class _Alike(NamedTuple):
    """How a program computes contiguous arrays of one shape: the number and the dtype of each argument, and the dtype of each
    result, with what a kernel sees them as, if that is another; and whether all results depend on all arguments.
    """

    operands: tuple[tuple[int, Any, Any], ...]
    results: tuple[tuple[Any, Any], ...]
    together: bool


def _alike(program: Program) -> _Alike | None:
    """None where there are half-precision elements that kernels do not convert, and results that depend on no argument."""
    stored = [program.half_inputs.get(place, dtype) for place, dtype in enumerate(program.input_dtypes)]
    if not all(program.depends) or any(dtype in HALVES and not _converts(dtype) for dtype in (*stored, *program.dtypes)):
        return None
    seen = [_BITS if dtype in HALVES else None for dtype in (*stored, *program.dtypes)]
    operands, results = zip(program.inputs, stored, seen, strict=False), zip(program.dtypes, seen[len(stored):], strict=True)
    return _Alike(tuple(operands), tuple(results), all(indices == program.inputs for indices in program.depends))


def _run_alike(arrays: Sequence[Array | None], program: Program) -> list[Any] | None:
    """The results for contiguous arrays of one shape, and others without dimensions, that are not large, with as few checks as
    that takes: 64 elements take 1.5 us, through `_run` 2.5, and in half precision 5. None for others.
    """
    alike: Any = program.kernels.get("alike")
    if alike is None:
        alike = program.kernels["alike"] = _alike(program) or False
    if not alike:
        return None
    shape, kinds, arguments = (), "", list[Any]()
    for number, dtype, seen in alike.operands:
        array: Any = arrays[number]
        own = array.shape
        if array.dtype is not dtype or not array.flags.c_contiguous:
            return None
        if not own:
            kinds += "S"
        elif not shape or own == shape:
            kinds += "F"
            shape, size = own, array.size
        else:
            return None
        arguments.append((array if seen is None else array.view(seen)).ravel())
    if not shape or size * 8 >= SMALLEST or ("S" in kinds and not alike.together):
        return None
    results = []
    arguments += program.constants
    for dtype, seen in alike.results:
        y = np.empty(shape, dtype)
        results.append(y)
        arguments.append((y if seen is None else y.view(seen)).ravel())
    key = kinds, False, False, ()
    kernel = program.kernels.get(key)
    if kernel is None:
        kernel = program.kernels[key] = compiled(source(program, *key))
    kernel(*arguments)
    return results


def _are_large(part: Part) -> bool:
    """Whether its results have so many elements that what is read is not to be written out."""
    return part.layout.outer * part.layout.inner >= tuning.BROADCAST_READ_FROM


def _of_distinct(arrays: Sequence[Array | None], program: Program) -> Any:
    """`fused` of large arrays some of which repeat elements."""
    shapes = program.result_shapes([() if array is None else array.shape for array in arrays])
    few: list[Any] = [array if array is None else distinct(array) for array in arrays]
    computed = fused(*few, program=program)
    if len(shapes) == 1:
        return materialized(computed, shapes[0])
    return tuple(map(materialized, computed, shapes))


def _converts(dtype: Any) -> bool:
    """Whether kernels get the bits of `dtype`: half precision that they convert."""
    return dtype in HALVES and half_precision.converts(dtype)


def _bits(array: Array | None) -> Array | None:
    """The bits of half-precision elements that kernels convert; other arrays, and None, as they are."""
    return array.view(_BITS) if array is not None and _converts(array.dtype) else array


def _as_read(array: Array, dtype: Any) -> Array:
    """What a kernel gets for an argument that it computes with as `dtype`."""
    if array.dtype is dtype or array.dtype == dtype:
        return array
    return array.view(_BITS) if _converts(array.dtype) else array.astype(dtype, order="C")


def _as_stored(array: Array, dtype: Any) -> Array:
    """What a kernel has written, as `dtype`."""
    if array.dtype is dtype or array.dtype == dtype:
        return array
    return array.view(dtype) if _converts(dtype) else array.astype(dtype)


def _written(program: Program) -> Sequence[Any]:
    """The dtypes of the results as a kernel writes them."""
    if not program.rounds:
        return program.output_dtypes
    return [_BITS if _converts(stored) else dtype for stored, dtype in zip(program.dtypes, program.output_dtypes, strict=True)]


def _run(part: Part, arrays: Sequence[Any], out: Sequence[Array | None] | None) -> list[Any]:
    program, _, shape, layout, operands = part
    outer, inner, kinds, _ = layout
    small = outer * inner * 8 < SMALLEST  # these take most of their time around the loop
    fresh = out is None or all(given is None for given in out)
    written = _written(program) if program.rounds else program.output_dtypes
    if fresh:
        make = np.empty if small else empty
        results = [make(shape, dtype) for dtype in written]
    else:
        targets = outputs(out, len(program.outputs))
        results = [result(given, shape, dtype) for given, dtype in zip(targets, written, strict=True)]
    if not outer * inner:
        return results
    rows = outer, inner
    arguments: list[Any] = []
    for number, dtype, kind, expanded in operands:
        array = arrays[number]
        if outer == 1 and inner >= tuning.FUSED_PARTS_FROM and out is None and not array.flags.c_contiguous:
            found = _parts(arrays, operands, shape)
            if found is not None:
                return _run_parts(part, arrays, results, *found)
        if expanded is not None:
            array = _copied_out(array, expanded) if small else np.broadcast_to(array, expanded)
        if array.dtype is not dtype:
            array = _as_read(array, dtype)
        arguments.append(array.ravel() if outer == 1 or kind != "F" else contiguous(array).reshape(rows))
    # Of fewer bytes than these are none are streamed, as elements have 8 at most.
    plain = outer > 1 or (fresh and not streams(8 * inner * (len(operands) + len(results))))
    streamed, replaced = (False, ()) if plain else _writing(arguments, kinds, results, fresh)
    key = kinds, outer > 1, streamed, replaced
    kernel = program.kernels.get(key)
    if kernel is None:
        kernel = program.kernels[key] = compiled(source(program, *key))
    # A flat array is its own row: `reshape` takes as long as the kernel takes for a hundred elements.
    arguments += program.constants
    if outer > 1:
        kernel(rows_of_a_chunk(inner), *arguments, *[array.reshape(rows) for array in results])
    else:
        kernel(*arguments, *(results if len(shape) == 1 else [array.ravel() for array in results]))
    return results


def _copied_out(array: Array, shape: tuple[int, ...]) -> Array:
    """A copy of `array`, broadcast: of a thousand elements in half of the time that it takes after `np.broadcast_to`."""
    copied = np.empty(shape, array.dtype)
    copied[...] = array
    return copied


def _parts(arrays: Sequence[Array], operands: Sequence[Any], shape: tuple[int, ...]) -> tuple[int, dict[int, int]] | None:
    """The length of the rows of those arguments that are parts of other arrays, and for each of them the elements from one
    row to the next; None where all are contiguous, and where copies of them have to be read.
    """
    parts: dict[int, Array] = {}
    for number, dtype, kind, expanded in operands:
        array = arrays[number]
        if array.dtype is not dtype and not (array.dtype == dtype or _converts(array.dtype)):
            return None
        if kind == "F":
            if expanded is not None or array.shape != shape:
                return None
            if not array.flags.c_contiguous:
                parts[number] = array
    found = common_rows(shape, *[(array.strides, array.itemsize) for array in parts.values()]) if parts else None
    return None if found is None else (found[0], dict(zip(parts, found[1], strict=True)))


def _run_parts(part: Part, arrays: Sequence[Array], results: list[Any], inner: int, pitches: dict[int, int]) -> list[Any]:
    """`_run` for parts of arrays, which are read row by row where they lie, into new `results`."""
    program = part.program
    rows = results[0].size // inner, inner
    arguments, distances, kinds = list[Any](), list[int](), ""
    for number, dtype, kind, _ in part.operands:
        array, pitch = _as_read(arrays[number], dtype), pitches.get(number)
        if pitch is None:
            kinds += kind
            arguments.append(array.reshape(rows if kind == "F" else -1))
        else:
            kinds += "P"
            arguments.append(address_of(array))
            distances.append(pitch * array.itemsize)
    key = kinds, True, False, ()
    kernel = program.kernels.get(key)
    if kernel is None:
        kernel = program.kernels[key] = compiled(source(program, *key))
    kernel(rows_of_a_chunk(inner), *arguments, *program.constants, *distances, *[array.reshape(rows) for array in results])
    return results


def _writing(arguments: Sequence[Array], kinds: str, results: Sequence[Array], fresh: bool) -> tuple[bool, Pairs]:
    """How a loop over arrays of one length writes: whether it streams large new results, and which arguments are results."""
    if not fresh:
        written = {address_of(array): f"y{place}" for place, array in enumerate(results)}
        pairs = [(f"x{place}", written.get(address_of(array))) for place, array in enumerate(arguments) if kinds[place] == "F"]
        return False, tuple([(argument, result) for argument, result in pairs if result is not None])
    dtype = results[0].dtype
    moved = 0
    for array in (*arguments, *results):
        moved += array.nbytes
    return streams(moved, *results) and dtype.char in "fdH" and all(array.dtype == dtype for array in results), ()


def compiled(text: str, names: Mapping[str, Any] | None = None, allocates: bool = False) -> Callable[..., None]:
    """The compiled kernel of a text, in which there are `names` too; programs with the same text share it. `allocates` as in
    `jit_parallel`.
    """
    kernel = _kernels.get(text)
    if kernel is None:
        kernel = _kernels[text] = _compile(text, names or {}, allocates)
    return kernel


def _compile(text: str, names: Mapping[str, Any], allocates: bool) -> Callable[..., None]:
    """The kernel of the functions `loop` and `kernel` in `text`, which get names of their own for the cache on disk."""
    name = f"fused_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    scope: dict[str, Any] = {**_GLOBALS, **names}
    loop, kernel = text.split("\n\n")
    # Named after this file, whose sources the cache looks at to know whether its entries are still good.
    exec(compile(loop, __file__, "exec"), scope)
    # Each operation is rounded, as one by one: a product that joins a sum unrounded would turn inf - inf into inf.
    of_chunks = "_each" not in kernel  # but for rows
    scope["inlined"] = jit_strict(scope["loop"], inline=True)
    scope["loop"] = jit_interleaved(scope["loop"], strict=True, seldom=of_chunks)
    return arrays_loops.compile_source(kernel.replace("def kernel(", f"def {name}("), name, __file__, scope, allocates)


def source(program: Program, kinds: str, rows: bool, streamed: bool = False, replaced: Pairs = ()) -> str:
    """The Python text of a kernel for arguments of these `kinds` (see `Layout`), with rows, or as `loops.source` says.

    Of the kind P are rows of a larger array: the address of the first one, with the bytes to the next as another argument.

    Arguments that are `replaced` are read by the names of those results, so that LLVM sees that an element depends on no other.
    """
    inputs, constants = [f"x{i}" for i in range(len(kinds))], [f"k{i}" for i in range(len(program.constants))]
    results = [f"y{i}" for i in range(len(program.outputs))]
    parameters = [*inputs, *constants, *results]
    lines = [f"def loop({', '.join(parameters)}):"]
    lines += [f"    k{i} = np.{dtype.type.__name__}(k{i})" for i, dtype in enumerate(program.constant_dtypes)]
    read = {f"x{place}": _READ[dtype.name] for place, dtype in program.half_inputs.items() if _converts(dtype)}
    lines += [f"    e{x} = {read.get(x, '{0}').format(f'{x}[0]')}" for x, kind in zip(inputs, kinds, strict=True) if kind in "CS"]
    lines += [f"    for i in range({results[0]}.shape[0]):"]
    names = dict(replaced)
    lines += [f"        e{x} = {read.get(x, '{0}').format(f'{names.get(x, x)}[i]')}"
              for x, kind in zip(inputs, kinds, strict=True) if kind in "FRP"]
    lines += steps(program, _TEMPLATES)
    written = [_WRITTEN[dtype.name] if _converts(dtype) else "{0}" for dtype in program.dtypes]
    lines += [f"        {y}[i] = {form.format(element(name))}"
              for y, form, name in zip(results, written, program.outputs, strict=True)]
    if not rows:
        whole = [x for x, kind in zip(inputs, kinds, strict=True) if kind == "F"]
        return "\n".join([*lines, "", arrays_loops.source("kernel", parameters, whole, results, streamed)])
    likes = {x: f"like_{(_BITS if x in read else dtype).name}" for x, dtype in zip(inputs, program.input_dtypes, strict=True)}
    taken = dict(zip(inputs, kinds, strict=True)) | dict.fromkeys(constants, "S")
    return "\n".join([*lines, "", arrays_loops.source_of_rows("kernel", taken, results, likes)])
