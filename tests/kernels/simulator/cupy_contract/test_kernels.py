"""Kernels: raw, of expressions, of reductions and fused ones."""
from __future__ import annotations

from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ..conftest import NEEDS_COMPILER
from .sources import AXPY, HOST, NORM, SQUARED


@NEEDS_COMPILER
def test_raw_kernel(cp: ModuleType) -> None:
    kernel = cp.RawKernel(AXPY, "axpy")
    x, y = cp.ones(100, np.float32), cp.zeros(100, np.float32)
    kernel((1,), (128,), (np.float32(2), x, y, np.int32(100)))
    assert (y.get() == 2).all()
    with pytest.raises(TypeError):
        kernel((1,), (128,), (np.float32(2), np.ones(100, np.float32), y, np.int32(100)))


@NEEDS_COMPILER
def test_raw_module_with_templates(cp: ModuleType) -> None:
    code = "template <typename T> __global__ void twice(T* x) { x[threadIdx.x] *= (T)2; }"
    module = cp.RawModule(code=code, options=("-std=c++17",), name_expressions=("twice<float>", "twice<int>"))
    for dtype, name in ((np.float32, "twice<float>"), (np.int32, "twice<int>")):
        x = cp.arange(8, dtype=dtype)
        module.get_function(name)((1,), (8,), (x,))
        assert x.get().tolist() == list(range(0, 16, 2))


@NEEDS_COMPILER
def test_variables_of_a_raw_module(cp: ModuleType) -> None:
    code = """namespace inner { __device__ int hidden; }
    extern "C" { __constant__ float factors[4]; __device__ int calls = 5; // __device__ int other;
    __global__ void scale(float* x) { x[threadIdx.x] *= factors[threadIdx.x]; if (threadIdx.x == 0) calls += 1; } }"""
    module = cp.RawModule(code=code)
    factors = cp.ndarray((4,), np.float32, module.get_global("factors"))
    factors[...] = cp.arange(4, dtype=np.float32)
    x = cp.full(4, 2, np.float32)
    module.get_function("scale")((1,), (4,), (x,))
    assert x.get().tolist() == [0, 2, 4, 6]
    assert cp.ndarray((1,), np.int32, module.get_global("calls")).get().tolist() == [6]
    with pytest.raises(RuntimeError):
        module.get_global("missing")


@NEEDS_COMPILER
def test_a_raw_kernel_of_complex_numbers(cp: ModuleType) -> None:
    code = """#include <cupy/complex.cuh>
    extern "C" __global__ void f(const complex<float>* x, complex<float>* y, float a) {
      int i = threadIdx.x;
      y[i] = a * x[i] * conj(x[i]) + exp(complex<float>(0, 0)) + thrust::complex<float>(0, 1);
    }"""
    x, y = cp.asarray([1 + 2j, 3j], np.complex64), cp.zeros(2, np.complex64)
    cp.RawKernel(code, "f")((1,), (2,), (x, y, np.float32(2)))
    assert y.get().tolist() == [11 + 1j, 19 + 1j]


@NEEDS_COMPILER
def test_an_elementwise_kernel_broadcasts(cp: ModuleType) -> None:
    kernel = cp.ElementwiseKernel("float32 x, float32 y", "float32 z", *SQUARED[2:])
    x, y = cp.arange(10, dtype=np.float32).reshape(2, 5), cp.arange(5, dtype=np.float32)
    expected = (x.get() - y.get()) ** 2
    assert kernel(x, y).get().tolist() == expected.tolist()
    assert kernel(x, 5).get().tolist() == ((x.get() - 5) ** 2).tolist()
    assert kernel(x.T, y[:2]).get().tolist() == ((x.get().T - y.get()[:2]) ** 2).tolist()
    z = cp.empty((2, 5), np.float32)
    assert kernel(x, y, z) is z and z.get().tolist() == expected.tolist()
    whole = cp.zeros((5, 2), np.float32)
    kernel(x, y, whole.T)  # written where it lies
    assert whole.get().T.tolist() == expected.tolist()
    assert kernel(x[:0], 1).shape == (0, 5) and kernel(x[0, 0], 1).get() == 1


@NEEDS_COMPILER
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i4", "i8", "u1", "u8", "?", "c8", "c16", "bfloat16"])
def test_an_elementwise_kernel_of_any_type(cp: ModuleType, dtype: str) -> None:
    kernel = cp.ElementwiseKernel("T x, T y", "T z", "T twice = x + x; z = twice * y + T(1)", "of_any_type")
    host = np.array([0, 1, 3]).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    result = kernel(cp.asarray(host), cp.asarray(host))
    assert result.dtype == host.dtype
    assert result.get().astype(complex).tolist() == [1, 1 if dtype == "?" else 3, 1 if dtype == "?" else 19]


@NEEDS_COMPILER
def test_types_of_an_elementwise_kernel(cp: ModuleType) -> None:
    x, y = cp.arange(4, dtype=np.float32), cp.ones(4, np.int64)
    generic = cp.ElementwiseKernel("X x, Y y", "Z z", SQUARED[2], "generic")
    z = cp.empty(4)
    assert generic(x, y, z) is z and z.get().tolist() == [1, 0, 1, 4]
    same = cp.ElementwiseKernel(*SQUARED)
    assert same(x, 2.5).dtype == np.float32 and same(y, 2.5).get().tolist() == [1] * 4  # 2.5 becomes 2
    for call, error in (
        (lambda: same(x, y), TypeError),
        (lambda: cp.ElementwiseKernel("float64 x", "T y", "y = x", "of_double")(x), TypeError),
        (lambda: same(x), TypeError),
        (lambda: same(x, x, x, x), TypeError),
        (lambda: same(x, HOST), TypeError),
        (lambda: same(x, x, axis=0), TypeError),
        (lambda: same(1, 2), ValueError),
        (lambda: same(x, x, cp.empty(3, np.float32)), ValueError),
        (lambda: same(x, x[:3]), ValueError),
        (lambda: same(x, x, size=4), ValueError),
        (lambda: same(x, x, block_size=0), ValueError),
        (lambda: cp.ElementwiseKernel("T x", "T y", "y = x", "not a name"), ValueError),
        (lambda: cp.ElementwiseKernel("T i", "T y", "y = i", "named_i"), ValueError),
        (lambda: cp.ElementwiseKernel("T", "T y", "y = 1", "nameless"), Exception),
        (lambda: cp.ElementwiseKernel("no_type x", "T y", "y = 1", "no_type"), TypeError),
        (lambda: cp.ElementwiseKernel("cooked T x", "T y", "y = x", "cooked"), Exception),
    ):
        with pytest.raises(error):
            call()


@NEEDS_COMPILER
def test_raw_arguments_of_an_elementwise_kernel(cp: ModuleType) -> None:
    reverse = cp.ElementwiseKernel("T x, raw T y", "T z", "z = x + y[_ind.size() - i - 1]", "add_reverse")
    x = cp.arange(6, dtype=np.float32)
    assert reverse(x, 2 * x).get().tolist() == [10, 9, 8, 7, 6, 5]
    assert reverse(x, x.reshape(2, 3).T).get().tolist() == [5, 3, 6, 4, 7, 5]  # in the order of the transposed one
    places = cp.ElementwiseKernel(
        "raw T x", "raw int64 y", "ptrdiff_t at[] = {i, x.shape()[1] - 1}; y[i] = x[at] * 10 + x.size() + x.ndim", "places"
    )
    y = cp.zeros(2, np.int64)
    assert places(x.reshape(2, 3), y, size=2) is y and y.get().tolist() == [28, 58]
    with pytest.raises(ValueError, match="undecided"):
        places(x.reshape(2, 3), y)
    with pytest.raises(ValueError, match="Undecided"):
        cp.ElementwiseKernel("T x", "raw T y", "y[i] = x", "no_size")(x)
    indices = cp.ElementwiseKernel("T x", "int64 y", "y = _ind.get()[0] * 10 + _ind.get()[1]", "ind", reduce_dims=False)
    assert indices(x.reshape(2, 3)).get().tolist() == [[0, 1, 2], [10, 11, 12]]


@NEEDS_COMPILER
def test_parts_of_an_elementwise_kernel(cp: ModuleType) -> None:
    kernel = cp.ElementwiseKernel(
        "T x, raw T table",
        "T y, T z",
        "y = scaled(x) + offset; z = x",
        "parts",
        preamble="template <class T> __device__ T scaled(T x) { return x * FACTOR; }",
        options=("-DFACTOR=3",),
        loop_prep="T offset = table[0]",
        after_loop="assert(offset == table[0])",
    )
    x = cp.arange(3, dtype=np.int32)
    y, z = kernel(x, cp.asarray([7], np.int32))
    assert y.get().tolist() == [7, 10, 13] and z.get().tolist() == [0, 1, 2]
    one = cp.ElementwiseKernel("T x", "T y", "y = x", "one", return_tuple=True)
    assert isinstance(one(x), tuple) and "y = x" in one.cached_code
    in_place = cp.ElementwiseKernel("", "T x", "x += 1", "in_place", no_return=True)
    assert in_place(x, block_size=1) is None and x.get().tolist() == [1, 2, 3]
    assert (one.name, one.nin, one.nout, one.nargs) == ("one", 1, 1, 2)


@NEEDS_COMPILER
def test_a_reduction_kernel_along_axes(cp: ModuleType) -> None:
    kernel = cp.ReductionKernel(*NORM)
    host = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = cp.asarray(host)
    axes: list[Any] = [None, 0, 1, -1, (0, 2), (2, 0), (0, 1, 2)]
    for axis in axes:
        for keepdims in (False, True):
            expected = np.sqrt((host * host).sum(axis=axis, keepdims=keepdims))
            result = kernel(x, axis=axis, keepdims=keepdims)
            assert result.dtype == np.float32 and result.shape == expected.shape
            np.testing.assert_allclose(result.get(), expected, rtol=1e-6)
    np.testing.assert_allclose(kernel(x.T, axis=0).get(), np.sqrt((host.T**2).sum(axis=0)), rtol=1e-6)
    out = cp.empty((2, 4), np.float32)
    assert kernel(x, out=out, axis=1) is out and kernel(x, out, axis=1) is out
    np.testing.assert_allclose(out.get(), np.sqrt((host**2).sum(axis=1)), rtol=1e-6)
    assert kernel(x[:0], axis=0).get().tolist() == np.zeros((3, 4)).tolist()
    long = cp.arange(1000, dtype=np.float64)
    np.testing.assert_allclose(float(kernel(long)), np.sqrt((long.get() ** 2).sum()))


@NEEDS_COMPILER
def test_parts_of_a_reduction_kernel(cp: ModuleType) -> None:
    x, y = cp.asarray([[3, 1, 2], [0, 5, 4]], np.int32), cp.asarray([1, 10, 100], np.int32)
    product = cp.ReductionKernel("T x, T y", "int64 z", "(long long)x * y", "a + b", "z = a", "0", "weighted", "long long")
    assert product(x, y, axis=1).get().tolist() == [213, 450]
    where = cp.ReductionKernel(
        "T x", "int64 y", "Pair<T>(x, _j)", "larger(a, b)", "y = a.place", "Pair<T>()", "largest", "Pair<T>",
        preamble="""template <class T> struct Pair { T value; long long place;
            __device__ Pair() : value(-1000), place(-1) {} __device__ Pair(T v, long long p) : value(v), place(p) {} };
        template <class T> __device__ Pair<T> larger(Pair<T> a, Pair<T> b) { return a.value < b.value ? b : a; }""",
    )  # fmt: skip
    assert where(x).get() == 4  # the place among all
    both = cp.ReductionKernel("T x", "T low, T high", "x", "a + b", "low = a - 1, high = a + 1", "0", "both")
    low, high = both(x, axis=0)
    assert low.get().tolist() == [2, 5, 5] and high.get().tolist() == [4, 7, 7]
    raw = cp.ReductionKernel("T x, raw T table", "T y", "x * table[0]", "a + b", "y = a", "0", "raw")
    assert raw(x, y[1:], axis=0).get().tolist() == [30, 60, 60]
    assert raw(x, y[1:]).get() == 150
    with pytest.raises(NotImplementedError):
        raw(x, y, axis=1)


@NEEDS_COMPILER
def test_errors_of_a_reduction_kernel(cp: ModuleType) -> None:
    kernel, x = cp.ReductionKernel(*NORM), cp.ones((2, 3), np.float32)
    without = cp.ReductionKernel("T x", "T y", "x", "a > b ? a : b", "y = a", None, "without_identity")
    for call, error in (
        (lambda: kernel(x, axis=2), np.exceptions.AxisError),
        (lambda: kernel(x, axis=(0, 0)), ValueError),
        (lambda: kernel(x, out=cp.empty(3, np.float32), axis=1), ValueError),
        (lambda: kernel(x, out=cp.empty(2), axis=1), TypeError),
        (lambda: kernel(x, cp.empty(2, np.float32), out=cp.empty(2, np.float32), axis=1), ValueError),
        (lambda: kernel(x, x, x), TypeError),
        (lambda: kernel(x, dtype=np.float32), TypeError),
        (lambda: kernel(HOST), TypeError),
        (lambda: kernel(1.0), ValueError),
        (lambda: without(x[:0], axis=0), ValueError),
        (lambda: cp.ReductionKernel(*NORM[:-1], "not a name"), ValueError),
    ):
        with pytest.raises(error):
            call()


def test_fused_functions_and_random_numbers(cp: ModuleType) -> None:
    @cp.fuse()
    def squared(x: Any, y: Any) -> Any:
        """The squared difference."""
        return (x - y) * (x - y)

    @cp.fuse
    def twice(x: Any) -> Any:
        return x + x

    x = cp.arange(4, dtype=np.float32)
    assert twice(squared(x, x[1:2])).get().tolist() == [2, 0, 2, 8]
    assert cp.any(x)  # from now on a name of the module
    assert cp.get_array_module(x) is cp and cp.get_array_module(HOST) is np
    for source in (cp.random, cp.random.RandomState(0)):
        source.seed(1)
        first = source.rand(2, 3)
        assert isinstance(first, cp.ndarray) and first.shape == (2, 3) and first.dtype == np.float64
        source.seed(1)
        assert (first.get() == source.rand(2, 3).get()).all()
        numbers = source.normal(5, 2, size=10_000, dtype=np.float32)
        assert numbers.dtype == np.float32 and abs(float(numbers.mean()) - 5) < 0.2 and 1.8 < float(numbers.std()) < 2.2
        whole = source.randint(2, 5, size=(100,))
        assert set(whole.get().tolist()) == {2, 3, 4}
        order = source.permutation(10)
        assert sorted(order.get().tolist()) == list(range(10))
        source.shuffle(order)
        assert sorted(order.get().tolist()) == list(range(10))
    assert cp.random.default_rng(0).random(5).shape == (5,) and cp.random.random((2,)).shape == (2,)
