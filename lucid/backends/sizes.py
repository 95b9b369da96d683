"""From how many elements on kernels of our own take the place of NumPy's functions."""
from __future__ import annotations

from typing import Any

# NumPy and CuPy compute small arrays and mixed dtypes: a call costs 0.1 us less than through Python. Ours compute at least LARGE
# elements, or MIDDLE of half precision, which NumPy converts one by one.
LARGE, MIDDLE = 1 << 16, 1 << 11
# Elements from which other kernels are used, of functions at which NumPy is slow: it takes 1 to 15 ns for each, and a kernel some
# microseconds to be called. Numba is imported with the first array of as many.
MANY = 1 << 12


def are_few(x: Any) -> bool:
    """Whether NumPy computes the real array `x` as well as a kernel of elementwise arithmetic does."""
    size: int = x.size
    return size < MIDDLE or (size < LARGE and x.itemsize > 2)
