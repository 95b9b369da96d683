"""The CPU: NumPy, and our Numba kernels.

`backend` has the table, merged from those of the modules: one function for an operation, which chooses a kernel by size, dtype
and layout, and calls NumPy for others. Where a module has `table(entries)`, its operations are made of others.
"""
