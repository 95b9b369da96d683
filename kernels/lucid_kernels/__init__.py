"""Numba kernels for the CPU and CUDA kernels for the GPU, under one contract (see ``kernels/README.md``)."""
