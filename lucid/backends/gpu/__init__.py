"""The GPU: CuPy, and our CUDA kernels; `backend` has the table. Imported with the first array there."""
