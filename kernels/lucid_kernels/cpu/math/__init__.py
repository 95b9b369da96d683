"""Scalar functions that LLVM vectorises; no arrays."""
from ..runtime import numba_import as numba_import
