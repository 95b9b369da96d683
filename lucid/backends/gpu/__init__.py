"""GPUs: CuPy, and our CUDA kernels; `backend` has the table."""
