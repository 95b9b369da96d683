"""Scalar functions that LLVM vectorises; no arrays."""
