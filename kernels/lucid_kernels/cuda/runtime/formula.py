"""The CUDA text of a formula. Imports no cupy: the compile check uses it too."""
from __future__ import annotations

from lucid_kernels.cuda.runtime.source import ctype
from lucid_kernels.expression import Program, Step

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
          "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_RENAMED = {"exp_nonpositive": "exp", "power": "pow", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh",
            "arctanh": "atanh", "arctan2": "atan2"}
_SPECIAL = {"neg": "-{0}", "bitwise_invert": "~{0}", "where": "{0} ? {1} : {2}", "cast": "{0}"}


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
    lines += [f"const {ctype(step.dtype)} {step.name} = {_expression(step)};" for step in program.steps]
    lines += [f"{y}[i] = {_element(name)};" for y, _, name in outputs]
    body = "\n".join(f"    {line}" for line in lines)
    return (f'#include "formula.cuh"\n\nextern "C" __global__ void __launch_bounds__(256)\n'
            f'fused({", ".join(parameters)}, i64 inner, i64 n) {{\n  GRID_STRIDE(i, n) {{\n{body}\n  }}\n}}\n')


def _element(name: str) -> str:
    return f"e{name}" if name[0] == "x" else name


def _expression(step: Step) -> str:
    """The right-hand side of a step, converted to its type: C++ would compute small integers as int."""
    operands = [_element(name) for name in step.operands]
    if step.operation in _INFIX:
        text = f" {_INFIX[step.operation]} ".join(operands)
    elif step.operation in _SPECIAL:
        text = _SPECIAL[step.operation].format(*operands)
    else:
        text = f"{_RENAMED.get(step.operation, step.operation)}_({', '.join(operands)})"
    return f"({ctype(step.dtype)})({text})"
