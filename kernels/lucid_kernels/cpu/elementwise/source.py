"""The Python text of formulas, which Numba compiles: their steps, and the serial loops of those that have a name (`formulas`)."""
from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lucid_kernels.expression import Program, Step, trace

from ..arrays.loops import Chunked, defined
from ..math import basic as math_basic
from ..runtime.jit import jit_exact, jit_interleaved

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
          "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_FUNCTIONS = {name: f"_math.{name}({{0}})" for name in ("exp", "exp_nonpositive", "tanh", "sigmoid", "gauss", "normal_cdf")}
#: How operations are written; {0}, {1} and {2} are the operands. The functions of `elementary` and `inverse`, which take long to
#: import, are not among them.
TEMPLATES = {
    **{name: f"{{0}} {symbol} {{1}}" for name, symbol in _INFIX.items()}, **_FUNCTIONS,
    "neg": "-{0}", "abs": "abs({0})", "where": "{1} if {0} else {2}", "cast": "{0}",
}  # fmt: skip
_INTEGER = {"maximum": "max({0}, {1})", "minimum": "min({0}, {1})"}


def element(name: str) -> str:
    """The variable that holds an element of an argument; other values have the names of a `Program`."""
    return f"e{name}" if name[0] == "x" else name


def steps(program: Program, templates: Mapping[str, str] = TEMPLATES) -> list[str]:
    """The statements that compute the steps of a program, in a loop."""
    return [f"        {step.name} = {_expression(step, templates)}" for step in program.steps]


def _expression(step: Step, templates: Mapping[str, str]) -> str:
    """The right-hand side of a step, of exactly its dtype: Numba would make int64 of two int32."""
    template = templates[step.operation]
    if step.operation in _INTEGER and step.dtype.kind != "f":
        template = _INTEGER[step.operation]
    text = template.format(*map(element, step.operands))
    natural = step.dtype.kind == "b" or (step.dtype.kind == "f" and step.operation != "cast")
    return text if natural else f"np.{step.dtype.type.__name__}({text})"


def loop(formula: Callable[..., Any], module: str) -> Chunked:
    """The loop of a formula over its scalars, arguments of one dtype and the result: of `module`, as the cache on disk names it.

    A product may join a sum unrounded. Where much is computed for each element, several vectors take turns.
    """
    program, arguments, scalars = trace(formula, np.dtype(np.float32))  # the text is the same for all dtypes
    name, read = f"_{formula.__name__}", enumerate((*arguments, *scalars))
    lines = [f"def {name}({', '.join((*scalars, *arguments, 'result'))}):"]
    lines += [f"    k{i} = result.dtype.type({value!r})" for i, value in enumerate(program.constants)]
    lines += ["    for i in range(result.shape[0]):"]
    lines += [f"        ex{i} = {argument}" if argument in scalars else f"        ex{i} = {argument}[i]" for i, argument in read]
    lines += [*steps(program), f"        result[i] = {element(program.outputs[0])}"]
    text = "\n".join(lines) + "\n"
    function = defined(text, name, str(sys.modules[module].__file__), {"__name__": module, "_math": math_basic})
    much = any(step.operation in _FUNCTIONS for step in program.steps)
    return Chunked((jit_interleaved if much else jit_exact)(function), len(scalars))
