"""GPUs: CuPy, and our CUDA kernels.

`backend`: the table.
`planning`: the operations that are repeated by plans.
"""
