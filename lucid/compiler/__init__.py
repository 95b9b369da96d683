"""`lucid.compile`: what the dispatcher runs, recorded once and replayed without Python's tensors and graph.

`watch`: what a function can see beside its arguments.
`recorder`: what a call runs, kernel by kernel.
`plan`: that as one function of kernels in a row.
`lifetimes`: how long its arrays live, and how much memory they take.
`graphs`: the kernels between two steps that are called as they are, as CUDA graphs.
`compiled`: signatures, and functions that are recorded and replayed.
"""
from __future__ import annotations

from typing import Any

from .compiled import Compiled, OptimizedModule, compile
from .plan import Plan
from .recorder import GraphBreak

__all__ = ["Compiled", "GraphBreak", "OptimizedModule", "Plan", "compile", "is_compiling", "reset"]


def is_compiling() -> bool:
    """Whether a call is being recorded now."""
    from .. import _recording

    return _recording.current() is not None


def reset(function: Any) -> None:
    """Forget all plans of a compiled function or module."""
    compiled = function.__dict__["_compiled"] if isinstance(function, OptimizedModule) else function
    compiled.reset()
