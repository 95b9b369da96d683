// Reductions along any dimensions of arrays of any strides, in an order that the shape alone fixes: sums, means, products, extremes with
// their indices, truth, norms, variances, log-sum-exp (reduce.cuh).
//
// Bytes moved: those of the array and of the results, once; where few results leave the device idle, the accumulators of the chunks
// beside them, 8 to 24 bytes each, of which `combine` makes the results.
// one module an instance on a GPU
// instantiate: rows<SumAll<float>>, rows<Mean<float>>, rows<NanSum<float>>, rows<Product<float>>
// instantiate: rows<Maximum<float>>, rows<Minimum<float>>, rows<Any<float>>, rows<All<float>>
// instantiate: rows<Norm1<float>>, rows<Norm2<float>>, rows<NormP<float>>, rows<ArgMax<float>>
// instantiate: rows<ArgMin<float>>, rows<Variance<float>>, rows<Deviation<float>>, rows<LogSumExp<float>>
// instantiate: rows<SumAll<double>>, rows<Mean<double>>, rows<NanSum<double>>, rows<Product<double>>
// instantiate: rows<Maximum<double>>, rows<Minimum<double>>, rows<Any<double>>, rows<All<double>>
// instantiate: rows<Norm1<double>>, rows<Norm2<double>>, rows<NormP<double>>, rows<ArgMax<double>>
// instantiate: rows<ArgMin<double>>, rows<Variance<double>>, rows<Deviation<double>>, rows<LogSumExp<double>>
// instantiate: rows<SumAll<__half>>, rows<Mean<__half>>, rows<NanSum<__half>>, rows<Product<__half>>
// instantiate: rows<Maximum<__half>>, rows<Minimum<__half>>, rows<Any<__half>>, rows<All<__half>>
// instantiate: rows<Norm1<__half>>, rows<Norm2<__half>>, rows<NormP<__half>>, rows<ArgMax<__half>>
// instantiate: rows<ArgMin<__half>>, rows<Variance<__half>>, rows<Deviation<__half>>, rows<LogSumExp<__half>>
// instantiate: rows<SumAll<__nv_bfloat16>>, rows<Mean<__nv_bfloat16>>, rows<NanSum<__nv_bfloat16>>, rows<Product<__nv_bfloat16>>
// instantiate: rows<Maximum<__nv_bfloat16>>, rows<Minimum<__nv_bfloat16>>, rows<Any<__nv_bfloat16>>, rows<All<__nv_bfloat16>>
// instantiate: rows<Norm1<__nv_bfloat16>>, rows<Norm2<__nv_bfloat16>>, rows<NormP<__nv_bfloat16>>, rows<ArgMax<__nv_bfloat16>>
// instantiate: rows<ArgMin<__nv_bfloat16>>, rows<Variance<__nv_bfloat16>>, rows<Deviation<__nv_bfloat16>>
// instantiate: rows<LogSumExp<__nv_bfloat16>>
// instantiate: rows<SumAll<bool>>, rows<Product<bool>>, rows<Any<bool>>, rows<All<bool>>
// instantiate: rows<SumAll<i64>>, rows<Product<i64>>, rows<Any<i64>>, rows<All<i64>>
// instantiate: rows<SumAll<int>>, rows<Product<int>>, rows<Any<int>>, rows<All<int>>
// instantiate: columns<SumAll<float>, 1>, columns<Mean<float>, 1>, columns<NanSum<float>, 1>
// instantiate: columns<Product<float>, 1>
// instantiate: columns<SumAll<float>, 4>, columns<Mean<float>, 4>, columns<NanSum<float>, 4>
// instantiate: columns<Product<float>, 4>
// instantiate: columns<Maximum<float>, 1>, columns<Minimum<float>, 1>, columns<Any<float>, 1>
// instantiate: columns<All<float>, 1>
// instantiate: columns<Maximum<float>, 4>, columns<Minimum<float>, 4>, columns<Any<float>, 4>
// instantiate: columns<All<float>, 4>
// instantiate: columns<Norm1<float>, 1>, columns<Norm2<float>, 1>, columns<NormP<float>, 1>
// instantiate: columns<ArgMax<float>, 1>
// instantiate: columns<Norm1<float>, 4>, columns<Norm2<float>, 4>, columns<NormP<float>, 4>
// instantiate: columns<ArgMax<float>, 4>
// instantiate: columns<ArgMin<float>, 1>, columns<Variance<float>, 1>, columns<Deviation<float>, 1>
// instantiate: columns<LogSumExp<float>, 1>
// instantiate: columns<ArgMin<float>, 4>, columns<Variance<float>, 4>, columns<Deviation<float>, 4>
// instantiate: columns<LogSumExp<float>, 4>
// instantiate: columns<SumAll<double>, 1>, columns<Mean<double>, 1>, columns<NanSum<double>, 1>
// instantiate: columns<Product<double>, 1>
// instantiate: columns<Maximum<double>, 1>, columns<Minimum<double>, 1>, columns<Any<double>, 1>
// instantiate: columns<All<double>, 1>
// instantiate: columns<Norm1<double>, 1>, columns<Norm2<double>, 1>, columns<NormP<double>, 1>
// instantiate: columns<ArgMax<double>, 1>
// instantiate: columns<ArgMin<double>, 1>, columns<Variance<double>, 1>, columns<Deviation<double>, 1>
// instantiate: columns<LogSumExp<double>, 1>
// instantiate: columns<SumAll<__half>, 1>, columns<Mean<__half>, 1>, columns<NanSum<__half>, 1>
// instantiate: columns<Product<__half>, 1>
// instantiate: columns<SumAll<__half>, 8>, columns<Mean<__half>, 8>, columns<NanSum<__half>, 8>
// instantiate: columns<Product<__half>, 8>
// instantiate: columns<Maximum<__half>, 1>, columns<Minimum<__half>, 1>, columns<Any<__half>, 1>
// instantiate: columns<All<__half>, 1>
// instantiate: columns<Maximum<__half>, 8>, columns<Minimum<__half>, 8>, columns<Any<__half>, 8>
// instantiate: columns<All<__half>, 8>
// instantiate: columns<Norm1<__half>, 1>, columns<Norm2<__half>, 1>, columns<NormP<__half>, 1>
// instantiate: columns<ArgMax<__half>, 1>
// instantiate: columns<Norm1<__half>, 8>, columns<Norm2<__half>, 8>, columns<NormP<__half>, 8>
// instantiate: columns<ArgMax<__half>, 8>
// instantiate: columns<ArgMin<__half>, 1>, columns<Variance<__half>, 1>, columns<Deviation<__half>, 1>
// instantiate: columns<LogSumExp<__half>, 1>
// instantiate: columns<ArgMin<__half>, 8>, columns<Variance<__half>, 8>, columns<Deviation<__half>, 8>
// instantiate: columns<LogSumExp<__half>, 8>
// instantiate: columns<SumAll<__nv_bfloat16>, 1>, columns<Mean<__nv_bfloat16>, 1>, columns<NanSum<__nv_bfloat16>, 1>
// instantiate: columns<Product<__nv_bfloat16>, 1>
// instantiate: columns<SumAll<__nv_bfloat16>, 8>, columns<Mean<__nv_bfloat16>, 8>, columns<NanSum<__nv_bfloat16>, 8>
// instantiate: columns<Product<__nv_bfloat16>, 8>
// instantiate: columns<Maximum<__nv_bfloat16>, 1>, columns<Minimum<__nv_bfloat16>, 1>, columns<Any<__nv_bfloat16>, 1>
// instantiate: columns<All<__nv_bfloat16>, 1>
// instantiate: columns<Maximum<__nv_bfloat16>, 8>, columns<Minimum<__nv_bfloat16>, 8>, columns<Any<__nv_bfloat16>, 8>
// instantiate: columns<All<__nv_bfloat16>, 8>
// instantiate: columns<Norm1<__nv_bfloat16>, 1>, columns<Norm2<__nv_bfloat16>, 1>, columns<NormP<__nv_bfloat16>, 1>
// instantiate: columns<ArgMax<__nv_bfloat16>, 1>
// instantiate: columns<Norm1<__nv_bfloat16>, 8>, columns<Norm2<__nv_bfloat16>, 8>, columns<NormP<__nv_bfloat16>, 8>
// instantiate: columns<ArgMax<__nv_bfloat16>, 8>
// instantiate: columns<ArgMin<__nv_bfloat16>, 1>, columns<Variance<__nv_bfloat16>, 1>, columns<Deviation<__nv_bfloat16>, 1>
// instantiate: columns<LogSumExp<__nv_bfloat16>, 1>
// instantiate: columns<ArgMin<__nv_bfloat16>, 8>, columns<Variance<__nv_bfloat16>, 8>, columns<Deviation<__nv_bfloat16>, 8>
// instantiate: columns<LogSumExp<__nv_bfloat16>, 8>
// instantiate: columns<SumAll<bool>, 1>, columns<Product<bool>, 1>, columns<Any<bool>, 1>
// instantiate: columns<All<bool>, 1>
// instantiate: columns<SumAll<i64>, 1>, columns<Product<i64>, 1>, columns<Any<i64>, 1>
// instantiate: columns<All<i64>, 1>
// instantiate: columns<SumAll<int>, 1>, columns<Product<int>, 1>, columns<Any<int>, 1>
// instantiate: columns<All<int>, 1>
// instantiate: combine<SumAll<float>>, combine<Mean<float>>, combine<NanSum<float>>, combine<Product<float>>
// instantiate: combine<Maximum<float>>, combine<Minimum<float>>, combine<Any<float>>, combine<All<float>>
// instantiate: combine<Norm1<float>>, combine<Norm2<float>>, combine<NormP<float>>, combine<ArgMax<float>>
// instantiate: combine<ArgMin<float>>, combine<Variance<float>>, combine<Deviation<float>>, combine<LogSumExp<float>>
// instantiate: combine<SumAll<double>>, combine<Mean<double>>, combine<NanSum<double>>, combine<Product<double>>
// instantiate: combine<Maximum<double>>, combine<Minimum<double>>, combine<Any<double>>, combine<All<double>>
// instantiate: combine<Norm1<double>>, combine<Norm2<double>>, combine<NormP<double>>, combine<ArgMax<double>>
// instantiate: combine<ArgMin<double>>, combine<Variance<double>>, combine<Deviation<double>>, combine<LogSumExp<double>>
// instantiate: combine<SumAll<__half>>, combine<Mean<__half>>, combine<NanSum<__half>>, combine<Product<__half>>
// instantiate: combine<Maximum<__half>>, combine<Minimum<__half>>, combine<Any<__half>>, combine<All<__half>>
// instantiate: combine<Norm1<__half>>, combine<Norm2<__half>>, combine<NormP<__half>>, combine<ArgMax<__half>>
// instantiate: combine<ArgMin<__half>>, combine<Variance<__half>>, combine<Deviation<__half>>, combine<LogSumExp<__half>>
// instantiate: combine<SumAll<__nv_bfloat16>>, combine<Mean<__nv_bfloat16>>, combine<NanSum<__nv_bfloat16>>
// instantiate: combine<Product<__nv_bfloat16>>
// instantiate: combine<Maximum<__nv_bfloat16>>, combine<Minimum<__nv_bfloat16>>, combine<Any<__nv_bfloat16>>
// instantiate: combine<All<__nv_bfloat16>>
// instantiate: combine<Norm1<__nv_bfloat16>>, combine<Norm2<__nv_bfloat16>>, combine<NormP<__nv_bfloat16>>
// instantiate: combine<ArgMax<__nv_bfloat16>>
// instantiate: combine<ArgMin<__nv_bfloat16>>, combine<Variance<__nv_bfloat16>>, combine<Deviation<__nv_bfloat16>>
// instantiate: combine<LogSumExp<__nv_bfloat16>>
// instantiate: combine<SumAll<bool>>, combine<Product<bool>>, combine<Any<bool>>, combine<All<bool>>
// instantiate: combine<SumAll<i64>>, combine<Product<i64>>, combine<Any<i64>>, combine<All<i64>>
// instantiate: combine<SumAll<int>>, combine<Product<int>>, combine<Any<int>>, combine<All<int>>
#include "reduce_kernels.cuh"
