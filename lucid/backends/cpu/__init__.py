"""The CPU: NumPy, and our Numba kernels; `backend` has the table."""
