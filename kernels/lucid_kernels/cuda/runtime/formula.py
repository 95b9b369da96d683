"""The CUDA text of a formula. Imports no cupy: the compile check uses it too."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from lucid_kernels.cuda.runtime.ctype import ctype
from lucid_kernels.expression import Program, Step, trace

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
          "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_WRAPPING = frozenset(("add", "sub", "mul"))
_RENAMED = {"exp_nonpositive": "exp",
            "power": "pow", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
            "arctanh": "atanh", "arctan2": "atan2"}
#: The C++ names of what is stored and computed otherwise, and of all floating types.
HALVES = frozenset(("__half", "__nv_bfloat16"))
FLOATING = ("float", "double", "__half", "__nv_bfloat16")
_REGISTERS = 32  # elements of all arrays that a thread holds at once
_ROUNDING = {"as_float16": "widened(narrowed<__half>({0}))", "as_bfloat16": "widened(narrowed<__nv_bfloat16>({0}))"}
_SPECIAL = {"neg": "-{0}", "bitwise_invert": "~{0}", "where": "{0} ? {1} : {2}", "cast": "{0}", **_ROUNDING}


def operator(name: str) -> str:
    """The C++ name of a formula: SiluGrad of "silu_grad"."""
    return name.title().replace("_", "")


def header(formulas: Iterable[Callable[..., Any]]) -> str:
    """Operators of one or two arguments, for the kernels `unary` and `binary` of all floating types, which are instantiated."""
    lines = ['#include "formula.cuh"']
    for formula in formulas:
        program, arguments, _ = trace(formula, np.dtype(np.float32))  # stands for all
        name, kernel = operator(formula.__name__), ("unary", "binary")[len(arguments) - 1]
        parameters = ", ".join(f"T ex{i}" for i in range(len(arguments)))
        lines += [f"// instantiate: {', '.join(f'{kernel}<{kind}, {name}>' for kind in FLOATING)}",
                  f"struct {name} {{  // {formula.__doc__}",
                  f"  template <typename T> static __device__ __forceinline__ T apply({parameters}) {{"]  # fmt: skip
        lines += [f"    const T k{i} = T({value!r});" for i, value in enumerate(program.constants)]
        for step in program.steps:
            kind = "bool" if step.dtype.kind == "b" else "T"
            lines.append(f"    const {kind} {step.name} = {_expression(step, kind)};")
        lines += [f"    return {_element(program.outputs[0])};", "  }", "};"]
    return "\n".join(lines) + "\n"


def width(itemsizes: Iterable[int]) -> int:
    """Elements of a group (map.cuh), of arrays of these item sizes: the vectors have at most 16 bytes, and fit into registers."""
    sizes = [*itemsizes]
    group = 16 // max(sizes)
    while group > 1 and group * len(sizes) > _REGISTERS:
        group //= 2
    return group


def source(program: Program, stored: tuple[Any, ...], results: tuple[Any, ...]) -> str:
    """The CUDA source of a kernel for arguments that are `stored` in these dtypes, None for numbers, and `results` as well.
    Numbers are doubles, those that are computed as integers have 64 bits. Programs with the same text share it.
    """
    text = program.kernels.get((stored, results))
    if text is None:
        text = program.kernels[stored, results] = _write(program, stored, results)
    return str(text)


def _write(program: Program, stored: tuple[Any, ...], results: tuple[Any, ...]) -> str:
    arrays = [dtype for dtype in (*results, *stored) if dtype is not None]
    group = width(dtype.itemsize for dtype in arrays)
    rounds = any(step.operation in _ROUNDING for step in program.steps)
    headers = '#include "halves.cuh"\n' if rounds or any(ctype(dtype) in HALVES for dtype in arrays) else ""
    # Not __restrict__: results may be arguments.
    parameters = [f"{ctype(dtype)}* y{i}" for i, dtype in enumerate(results)]
    parameters += [f"const {_of_numbers(program, i)} x{i}" if dtype is None else f"const {ctype(dtype)}* x{i}"
                   for i, dtype in enumerate(stored)]
    parameters += [f"const {ctype(dtype)} k{i}" for i, dtype in enumerate(program.constant_dtypes)]
    outer, reads, inner, writes = list[str](), list[str](), list[str](), list[str]()
    place = 0
    for i, dtype in enumerate(program.output_dtypes):
        reads.append(f"{ctype(dtype)} y{i}s[V];")
        inner.append(f"y{i}s[v] = {_element(program.outputs[i])};")
        writes.append(f"write<V>(layout, {place}, y{i}, at[{place}], count, y{i}s);")
        place += 1
    elements = []
    for i, (dtype, kind) in enumerate(zip(program.input_dtypes, stored, strict=True)):
        if kind is None:
            half = program.half_inputs.get(i)  # to which a number is rounded
            value = f"x{i}" if half is None else f"widened(narrowed<{ctype(half)}>(x{i}))"
            outer.append(f"const {ctype(dtype)} ex{i} = ({ctype(dtype)}){value};")
            continue
        reads += [f"{ctype(dtype)} x{i}s[V];", f"read<V>(layout, {place}, x{i}, at[{place}], count, x{i}s);"]
        elements.append(f"const {ctype(dtype)} ex{i} = x{i}s[v];")
        place += 1
    steps = [f"const {ctype(step.dtype)} {step.name} = {_expression(step, ctype(step.dtype))};" for step in program.steps]
    body = [*outer, "GRID_STRIDE(group, groups) {", f"  i64 at[{place}];", "  const int count = locate<V>(layout, group, at);",
            *[f"  {line}" for line in reads], "#pragma unroll", "  for (int v = 0; v < V; ++v) {",
            *[f"    {line}" for line in (*elements, *steps, *inner)], "  }", *[f"  {line}" for line in writes], "}"]
    lines = "\n".join(f"  {line}" if line[0] != "#" else line for line in body)
    return (f'{headers}#include "formula.cuh"\n#include "map.cuh"\n#define V {group}\n\n'
            f'extern "C" __global__ void __launch_bounds__(256)\n'
            f'fused({", ".join(parameters)}, Layout<{place}> layout, i64 groups) {{\n{lines}\n}}\n')


def _of_numbers(program: Program, place: int) -> str:
    """The C++ type of an argument that is a number."""
    return "i64" if program.input_dtypes[place].kind in "iu" else "double"


def _element(name: str) -> str:
    return f"e{name}" if name[0] == "x" else name


def _expression(step: Step, kind: str) -> str:
    """The right-hand side of a step, converted to its type `kind`: C++ would compute small integers as int."""
    operands = [_element(name) for name in step.operands]
    if step.operation in _WRAPPING and step.dtype.kind in "iu":  # signed numbers that overflow have no value in C++
        operands = [f"({'u64' if step.dtype.itemsize == 8 else 'unsigned'}){name}" for name in operands]
    if step.operation in _INFIX:
        text = f" {_INFIX[step.operation]} ".join(operands)
    elif step.operation in _SPECIAL:
        text = _SPECIAL[step.operation].format(*operands)
    else:
        text = f"{_RENAMED.get(step.operation, step.operation)}_({', '.join(operands)})"
    return f"({kind})({text})"
