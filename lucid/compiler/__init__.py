"""`lucid.compile`: what the dispatcher runs, recorded once and replayed without Python's tensors and graph.

`guards`: what a function can see beside its arguments.
`symbols`: the places of arrays in a recording.
`arrays`: the arrays of a recording, by those.
`recorder`: what a call runs, kernel by kernel.
`breaks`: what ends a recording, and the line of the program.
`comparison`: what differs between two recordings.
`returned`: numbers of tensors in the line that returns.
`function`: that as one function of kernels in a row.
`plan`: that function, one for gradients that are computed outside, and whether they may be called.
`lifetimes`: how long its arrays live, and how much memory they take.
`fusion`: elementwise operations as one kernel.
`chains`: small kernels in a row, whose loops one compiled function calls.
`recompute`: gradients that no recording has, by computing the call again.
`graphs`: the kernels between two steps that are called as they are, as CUDA graphs.
`backward_graphs`: those of a backward that is computed outside.
`markers`: what programs tell PyTorch's compilers.
`compiled`: signatures, and functions that are recorded and replayed.

>>> @lucid.compile
... def double(x):
...     return x * 2
>>> for _ in range(3):
...     y = double(lucid.ones(2))
>>> y, len(double.plans)
(Tensor([2.0, 2.0], requires_grad=False), 1)
"""
from __future__ import annotations

from typing import Any

from .breaks import GraphBreak
from .compiled import Compiled, OptimizedModule, compile
from .markers import (
    allow_in_graph,
    assume_constant_result,
    cudagraph_mark_step_begin,
    disable,
    is_dynamo_compiling,
    is_exporting,
    list_backends,
    nested_compile_region,
    substitute_in_graph,
)
from .plan import Plan

__all__ = ["Compiled", "GraphBreak", "OptimizedModule", "Plan", "allow_in_graph", "assume_constant_result", "compile",
           "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling", "is_exporting", "list_backends",
           "nested_compile_region", "reset", "substitute_in_graph"]


def is_compiling() -> bool:
    """Whether a call is being recorded now.

    >>> lucid.compiler.is_compiling()
    False
    """
    from .. import _recording

    return _recording.current() is not None


def reset(function: Any) -> None:
    """Forget all plans of a compiled function or module.

    >>> @lucid.compile
    ... def double(x):
    ...     return x * 2
    >>> for _ in range(3):
    ...     y = double(lucid.ones(2))
    >>> lucid.compiler.reset(double)
    >>> len(double.plans)
    0
    """
    compiled = function.__dict__["_compiled"] if isinstance(function, OptimizedModule) else function
    compiled.reset()
