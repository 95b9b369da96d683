"""What the tests compute: an array of the host, and kernels."""
from __future__ import annotations

import numpy as np

HOST = np.arange(6, dtype=np.float32).reshape(2, 3)
AXPY = """extern "C" __global__ void axpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}"""
SQUARED = ("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_diff")
NORM = ("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")
