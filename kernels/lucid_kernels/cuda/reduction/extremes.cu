// The extremes of elements, or of their sizes, and how many elements are at them, among which gradients are shared: as `reduce.cu`.
// one module an instance on a GPU
// instantiate: rows<Peak<float>>, rows<Peak<double>>, rows<Peak<__half>>, rows<Peak<__nv_bfloat16>>
// instantiate: columns<Peak<float>, 1>, columns<Peak<double>, 1>, columns<Peak<__half>, 1>
// instantiate: columns<Peak<__nv_bfloat16>, 1>
// instantiate: columns<Peak<float>, 4>, columns<Peak<__half>, 8>, columns<Peak<__nv_bfloat16>, 8>
// instantiate: combine<Peak<float>>, combine<Peak<double>>, combine<Peak<__half>>, combine<Peak<__nv_bfloat16>>
#include "reduce_kernels.cuh"
