"""The CUDA text of a formula. Imports no cupy: the compile check uses it too."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from lucid_kernels.cuda.runtime.ctype import ctype
from lucid_kernels.expression import Program, Step, trace

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
          "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_RENAMED = {"exp_nonpositive": "exp",
            "power": "pow", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
            "arctanh": "atanh", "arctan2": "atan2"}
_SPECIAL = {"neg": "-{0}", "bitwise_invert": "~{0}", "where": "{0} ? {1} : {2}", "cast": "{0}"}


def operator(name: str) -> str:
    """The C++ name of a formula: SiluGrad of "silu_grad"."""
    return name.title().replace("_", "")


def header(formulas: Iterable[Callable[..., Any]]) -> str:
    """Operators of one or two arguments, for the kernels `unary` and `binary` of float and double, which are instantiated."""
    lines = ['#include "formula.cuh"']
    for formula in formulas:
        program, arguments, _ = trace(formula, np.dtype(np.float32))  # stands for both
        name, kernel = operator(formula.__name__), ("unary", "binary")[len(arguments) - 1]
        parameters = ", ".join(f"T ex{i}" for i in range(len(arguments)))
        lines += [f"// instantiate: {kernel}<float, {name}>, {kernel}<double, {name}>",
                  f"struct {name} {{  // {formula.__doc__}",
                  f"  template <typename T> static __device__ __forceinline__ T apply({parameters}) {{"]  # fmt: skip
        lines += [f"    const T k{i} = T({value!r});" for i, value in enumerate(program.constants)]
        for step in program.steps:
            kind = "bool" if step.dtype.kind == "b" else "T"
            lines.append(f"    const {kind} {step.name} = {_expression(step, kind)};")
        lines += [f"    return {_element(program.outputs[0])};", "  }", "};"]
    return "\n".join(lines) + "\n"


def source(program: Program, kinds: str) -> str:
    """The CUDA source of a kernel for arguments of these `kinds` (see `Layout`); programs with the same text share it."""
    text = program.kernels.get(kinds)
    if text is None:
        text = program.kernels[kinds] = _write(program, kinds)
    return str(text)


def _write(program: Program, kinds: str) -> str:
    index = {"F": "[i]", "R": "[i % inner]", "C": "[i / inner]", "S": "[0]"}
    inputs = [(f"x{i}", ctype(dtype), kind)
              for i, (dtype, kind) in enumerate(zip(program.input_dtypes, kinds, strict=True))]
    outputs = [(f"y{i}", ctype(dtype), name)
               for i, (dtype, name) in enumerate(zip(program.output_dtypes, program.outputs, strict=True))]
    # Not __restrict__: results may be arguments.
    parameters = [f"const {element}* {x}" for x, element, _ in inputs]
    parameters += [f"const {ctype(dtype)} k{i}" for i, dtype in enumerate(program.constant_dtypes)]
    parameters += [f"{element}* {y}" for y, element, _ in outputs]
    lines = [f"const {element} e{x} = {x}{index[kind]};" for x, element, kind in inputs]
    lines += [f"const {ctype(step.dtype)} {step.name} = {_expression(step, ctype(step.dtype))};" for step in program.steps]
    lines += [f"{y}[i] = {_element(name)};" for y, _, name in outputs]
    body = "\n".join(f"    {line}" for line in lines)
    return (f'#include "formula.cuh"\n\nextern "C" __global__ void __launch_bounds__(256)\n'
            f'fused({", ".join(parameters)}, i64 inner, i64 n) {{\n  GRID_STRIDE(i, n) {{\n{body}\n  }}\n}}\n')


def _element(name: str) -> str:
    return f"e{name}" if name[0] == "x" else name


def _expression(step: Step, kind: str) -> str:
    """The right-hand side of a step, converted to its type `kind`: C++ would compute small integers as int."""
    operands = [_element(name) for name in step.operands]
    if step.operation in _INFIX:
        text = f" {_INFIX[step.operation]} ".join(operands)
    elif step.operation in _SPECIAL:
        text = _SPECIAL[step.operation].format(*operands)
    else:
        text = f"{_RENAMED.get(step.operation, step.operation)}_({', '.join(operands)})"
    return f"({kind})({text})"
