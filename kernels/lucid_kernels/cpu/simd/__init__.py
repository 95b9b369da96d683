"""Vectors in LLVM IR; knows no operation either."""
from ..runtime import numba_import as numba_import
