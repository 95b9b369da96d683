"""Planted bugs for products of matrices by rows: see lucid_kernels/simulator/mutation.py."""
from __future__ import annotations

import numpy as np
from lucid_kernels.simulator.mutation import Mutation

from tests.kernels.cuda.matmul import test_csr_matmul


def check() -> None:
    import cupy

    test_csr_matmul.check(cupy, (9, 17, 3, 40), np.float64, 1e-14)
    test_csr_matmul.check(cupy, (7, 5, 3, 9), np.float16, 6e-4)
    test_csr_matmul.special(cupy)


CSR = "csr_matmul.cu"
MUTATIONS = [
    Mutation(CSR, "the last element of a row is left out", r"p < compressed\[row \+ 1\]", "p + 1 < compressed[row + 1]", check),
    Mutation(CSR, "the other columns", r"at \* width \+ column", "at + column", check),
    Mutation(CSR, "before the first row of the other matrix", r"at >= 0 && at < columns\) sum \+= widened\(values",
             "at < columns) sum += widened(values", check),
    Mutation(CSR, "one row of the other matrix too many", r"at < columns\) sum \+= widened\(values",
             "at <= columns) sum += widened(values", check),
    Mutation(CSR, "the row before", r"compressed\[middle\] <= p", "compressed[middle] < p", check),
    Mutation(CSR, "no last row", r"high = rows;", "high = rows - 1;", check),
    Mutation(CSR, "sampled before the first row", r"if \(at >= 0 && at < columns\)\n", "if (at < columns)\n", check),
    Mutation(CSR, "the first row of a", r"a\[low \* width", "a[0 * width", check),
]
