// The extremes of elements, or of their sizes, and how many elements are at them, among which gradients are shared: as `reduce.cu`.
// one module an instance on a GPU
// instantiate: rows<Peak<float>>, rows<Peak<double>>, rows<Peak<__half>>, rows<Peak<__nv_bfloat16>>
// instantiate: columns<Peak<float>>, columns<Peak<double>>, columns<Peak<__half>>, columns<Peak<__nv_bfloat16>>
// instantiate: combine<Peak<float>>, combine<Peak<double>>, combine<Peak<__half>>, combine<Peak<__nv_bfloat16>>
#include "reduce_kernels.cuh"
