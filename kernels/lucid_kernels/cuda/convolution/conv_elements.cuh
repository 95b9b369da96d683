// Elements of convolutions.
#pragma once
#include "halves.cuh"

// ReLU. NaN stays.
__device__ __forceinline__ float positive(float x) { return x <= 0.f ? 0.f : x; }
