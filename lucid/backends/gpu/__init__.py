"""GPUs: CuPy, and our CUDA kernels.

`backend`: the table.
"""
