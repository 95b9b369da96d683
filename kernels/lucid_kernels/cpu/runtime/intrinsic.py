"""Functions that write LLVM's instructions, and the type and the constants of their indices."""
from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.extending import intrinsic as _intrinsic

intrinsic: Any = _intrinsic  # untyped: Numba declares the result with the typing context as an argument
I64 = ir.IntType(64)


def constant(number: int) -> Any:
    """An index that is known."""
    return ir.Constant(I64, number)
