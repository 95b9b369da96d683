"""Vectors in LLVM IR; knows no operation either."""
