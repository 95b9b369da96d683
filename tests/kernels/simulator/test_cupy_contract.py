"""What lucid relies on in CuPy, written once: it runs on the real CuPy where there is a GPU, else on the stand-in.

It keeps the stand-in honest: a test that fails on one of the two shows a difference.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels import simulator
from lucid_kernels.simulator.cupy_names import real_cupy

from .conftest import NEEDS_COMPILER

HOST = np.arange(6, dtype=np.float32).reshape(2, 3)
AXPY = """extern "C" __global__ void axpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}"""


def _real_with_gpu() -> ModuleType | None:
    try:
        with real_cupy() as cupy:
            return cupy if cupy is not None and cupy.cuda.runtime.getDeviceCount() > 0 else None
    except Exception:  # no driver or no device: CuPy has an exception class for each
        return None


@pytest.fixture
def cp() -> Iterator[ModuleType]:
    real = _real_with_gpu()
    if real is not None:
        yield real
        return
    was_installed = simulator.installed()
    yield simulator.install()
    if not was_installed:
        simulator.uninstall()


MIXES: list[Callable[[ModuleType, Any], Any]] = [
    lambda cp, x: x + HOST,
    lambda cp, x: HOST + x,
    lambda cp, x: np.asarray(x),
    lambda cp, x: np.exp(x, out=HOST.copy()),
    lambda cp, x: cp.concatenate([x, HOST]),
    lambda cp, x: operator.setitem(x, slice(None), HOST),
    lambda cp, x: operator.iadd(HOST.copy(), x),
    lambda cp, x: cp.maximum(x, HOST),
    lambda cp, x: x @ HOST.T,
    lambda cp, x: cp.where(x > 0, x, HOST),
]


@pytest.mark.parametrize("mix", MIXES, ids=range(len(MIXES)))
def test_host_and_device_arrays_do_not_mix(cp: ModuleType, mix: Callable[[ModuleType, Any], Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        mix(cp, cp.asarray(HOST))


def test_results_stay_on_the_device(cp: ModuleType) -> None:
    x = cp.asarray(HOST)
    results = [x.sum(), x[0, 0], np.exp(x), cp.exp(x), x + 1, x.T, x.max(axis=1), x[1:], cp.argmax(x), -x, x > 1]
    assert all(isinstance(result, cp.ndarray) for result in results)
    assert isinstance(x.get(), np.ndarray) and isinstance(cp.asnumpy(x), np.ndarray)
    assert x.sum().shape == () and float(x.sum()) == 15


def test_views_share_memory(cp: ModuleType) -> None:
    x = cp.asarray(HOST.copy())
    x.reshape(3, 2)[0, 0] = 7
    x[1][2] = 9
    assert x.get()[0, 0] == 7 and x.get()[1, 2] == 9
    assert x.T.data.ptr == x.data.ptr and x[1].data.ptr == x.data.ptr + 12
    assert x.base is None and x[1].base is x and x.T[1].base is x
    assert not x.T.flags.c_contiguous and x.T.flags.f_contiguous


def test_promotion_is_numpys(cp: ModuleType) -> None:
    x = cp.asarray(HOST)
    assert (x * 2.0).dtype == np.float32 and (x + np.float64(1)).dtype == np.float64
    assert x.mean().dtype == np.float32 and cp.arange(3).sum().dtype == np.int64
    assert (cp.arange(3, dtype=np.int8) + 1).dtype == np.int8
    assert cp.zeros(2).dtype == np.float64 and cp.true_divide(cp.arange(2), 2).dtype == np.float64


FUNCTIONS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("sum", (HOST,), {"axis": 0, "keepdims": True}),
    ("prod", (HOST + 1,), {"axis": 1}),
    ("cumsum", (HOST,), {"axis": 1}),
    ("argmax", (HOST,), {"axis": 1}),
    ("sort", (-HOST,), {"axis": 1}),
    ("argsort", (-HOST,), {"axis": 1}),
    ("take", (HOST, np.array([2, 0])), {"axis": 1}),
    ("take_along_axis", (HOST, np.array([[2, 0], [1, 1]]), 1), {}),
    ("where", (HOST > 2, HOST, -HOST), {}),
    ("clip", (HOST, 1, 4), {}),
    ("matmul", (HOST, HOST.T), {}),
    ("einsum", ("ij,kj->ik", HOST, HOST), {}),
    ("tensordot", (HOST, HOST), {"axes": ((1,), (1,))}),
    ("broadcast_to", (HOST, (4, 2, 3)), {}),
    ("moveaxis", (HOST, 0, 1), {}),
    ("pad", (HOST, ((1, 0), (0, 2))), {}),
    ("triu", (HOST,), {}),
    ("flip", (HOST, 1), {}),
    ("power", (HOST, 2), {}),
    ("logaddexp", (HOST, 1.0), {}),
    ("isnan", (HOST,), {}),
    ("floor_divide", (HOST, 2), {}),
]


@pytest.mark.parametrize(("name", "arguments", "keywords"), FUNCTIONS, ids=[name for name, _, _ in FUNCTIONS])
def test_functions_agree_with_numpy(
    cp: ModuleType, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    on_device = [cp.asarray(argument) if isinstance(argument, np.ndarray) else argument for argument in arguments]
    result = getattr(cp, name)(*on_device, **keywords)
    expected = getattr(np, name)(*arguments, **keywords)
    assert isinstance(result, cp.ndarray) and result.dtype == expected.dtype
    np.testing.assert_allclose(result.get(), expected, rtol=1e-6)


def test_out_and_in_place_operators(cp: ModuleType) -> None:
    x, out = cp.asarray(HOST), cp.empty((2, 3), np.float32)
    assert cp.add(x, 1, out=out) is out and float(out.sum()) == 21
    before = out.data.ptr
    out += x
    out *= 2
    assert out.data.ptr == before and float(out.sum()) == 72


def test_advanced_indexing(cp: ModuleType) -> None:
    x = cp.asarray(HOST.copy())
    rows, columns = cp.asarray([1, 0]), cp.asarray([2, 1])
    assert x[rows, columns].get().tolist() == [5, 1]
    assert x[rows].get().tolist() == HOST[[1, 0]].tolist()
    assert x[x > 3].get().tolist() == [4, 5]
    x[rows, columns] = cp.asarray([50, 10], dtype=np.float32)
    x[x < 1] = -1
    assert x.get().tolist() == [[-1, 10, 2], [3, 4, 50]]
    x[rows] = x
    assert x.get().tolist() == [[3, 4, 50], [-1, 10, 2]]


def test_index_arrays_wrap_around_and_numbers_do_not(cp: ModuleType) -> None:
    x, far = cp.asarray(HOST.copy()), cp.asarray([4, -3])  # rows 0 and 1
    assert x[far].get().tolist() == HOST.tolist()
    assert x[None, ..., far].get().tolist() == HOST[None, ..., [1, 0]].tolist()
    assert x[far, cp.asarray([3, 7])].get().tolist() == [0, 4]
    assert x.take(far, axis=0).get().tolist() == cp.take(x, far, axis=0).get().tolist() == HOST.tolist()
    assert cp.take(x, cp.asarray([6, -7])).get().tolist() == [0, 5]
    assert cp.take_along_axis(x, cp.asarray([[5], [-4]]), 1).get().tolist() == [[2], [5]]
    x[cp.asarray([3])] = 7
    x[:, cp.asarray([-4])] = 8
    assert x.get().tolist() == [[0, 1, 8], [7, 7, 8]]
    cp.add.at(x, cp.asarray([2, 4]), cp.ones((2, 3), np.float32))
    assert x.get().tolist() == [[2, 3, 10], [7, 7, 8]]
    x.put(cp.asarray([6]), 5)
    assert x.get()[0].tolist() == [5, 3, 10]
    for call in (lambda: x[2], lambda: x[0, -4], lambda: operator.setitem(x, 2, 0)):
        with pytest.raises(IndexError):
            call()


def test_accumulation_at_repeated_indices(cp: ModuleType) -> None:
    x = cp.zeros(4, np.float32)
    cp.add.at(x, cp.asarray([1, 1, 3]), cp.asarray([1, 2, 4], dtype=np.float32))
    assert x.get().tolist() == [0, 3, 0, 4]
    with pytest.raises(TypeError):  # there is no atomicAdd for it
        cp.add.at(cp.zeros(4, np.int16), cp.asarray([1, 1]), 1)
    with pytest.raises(TypeError):
        cp.add.at(cp.zeros(4, np.complex64), cp.asarray([1, 1]), 1)


def test_what_differs_from_numpy(cp: ModuleType) -> None:
    x = cp.asarray([np.inf, 1.0, -1.0])
    assert cp.floor_divide(x, -np.inf).get()[1:].tolist() == [0, 0]
    assert np.isnan(cp.remainder(x, np.inf).get()).all()
    assert cp.clip(x, cp.asarray(np.nan), cp.asarray(0.5)).get().tolist() == [0.5, 0.5, -1]
    assert cp.power(-x, 0.5).get()[0] == np.inf
    half = cp.asarray([1.0, 2.0]).astype(ml_dtypes.bfloat16)
    assert cp.where(half > 1, half, half).dtype == half.clip(half, half).dtype == np.float32
    with pytest.raises(TypeError):
        half.clip(half, None)
    with pytest.raises(TypeError):
        hash(half.device)


def test_bfloat16(cp: ModuleType) -> None:
    x = cp.asarray(HOST.astype(ml_dtypes.bfloat16))
    assert x.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(x.astype(np.float32).get(), HOST)
    assert x.get().dtype == ml_dtypes.bfloat16


def test_copies_between_host_and_device(cp: ModuleType) -> None:
    x, out = cp.zeros((2, 3), np.float32), np.empty((2, 3), np.float32)
    x.set(HOST)
    assert x.get(out=out) is out
    np.testing.assert_array_equal(out, HOST)
    with pytest.raises((TypeError, ValueError)):
        x.set(HOST.astype(np.float64))
    assert x.tolist() == HOST.tolist() and x[1, 2].item() == 5


def test_dlpack_shares_memory(cp: ModuleType) -> None:
    x = cp.asarray(HOST)
    assert x.__dlpack_device__()[0] == 2
    assert cp.from_dlpack(x).data.ptr == x.data.ptr
    with pytest.raises((BufferError, RuntimeError, TypeError, ValueError)):
        np.from_dlpack(x)


def test_devices(cp: ModuleType) -> None:
    assert cp.cuda.runtime.getDeviceCount() >= 1
    with cp.cuda.Device(0):
        x = cp.ones(3)
    assert x.device == cp.cuda.Device(0) and x.device.id == 0
    assert cp.cuda.Device(0).attributes["MultiProcessorCount"] > 0
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError):
        cp.cuda.Device(1000).use()


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


# ----------------------------------------------------------------------------------------------------- elementwise kernels
SQUARED = ("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_diff")


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


# ----------------------------------------------------------------------------------------------------- reduction kernels
NORM = ("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")


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


@NEEDS_COMPILER
def test_kernels_of_expressions_are_captured(cp: ModuleType) -> None:
    square, norm = cp.ElementwiseKernel(*SQUARED), cp.ReductionKernel(*NORM)
    stream, x = cp.cuda.Stream(non_blocking=True), cp.ones(5, np.float32)
    with stream:
        y, z = cp.empty(5, np.float32), cp.empty((), np.float32)
        square(x, 3, y)
        norm(y, out=z)
        stream.synchronize()
        y[...] = z[...] = 0
        stream.synchronize()
        stream.begin_capture()
        square(x, 3, y)
        norm(y, out=z)
        graph = stream.end_capture()
        assert y.get()[0] == 0
        graph.launch()
        stream.synchronize()
    assert y.get().tolist() == [4] * 5 and float(z) == np.sqrt(np.float32(80))


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


def test_device_and_runtime_say_what_kernels_ask(cp: ModuleType) -> None:
    attributes = cp.cuda.Device().attributes
    properties = cp.cuda.runtime.getDeviceProperties(0)
    assert attributes["MaxThreadsPerBlock"] == properties["maxThreadsPerBlock"] == 1024
    assert attributes["MaxSharedMemoryPerBlockOptin"] == properties["sharedMemPerBlockOptin"]
    assert attributes["WarpSize"] == properties["warpSize"] == 32
    assert int(cp.cuda.Device().compute_capability) == properties["major"] * 10 + properties["minor"]
    assert {"MaxBlockDimX", "MaxGridDimX", "MaxRegistersPerBlock", "MaxSharedMemoryPerMultiprocessor"} <= set(attributes)


def test_pointers_copy_memory(cp: ModuleType) -> None:
    x, y, host = cp.arange(4, dtype=np.int32), cp.zeros(4, np.int32), np.zeros(2, np.int32)
    (y.data + 4).copy_from_device(x.data, 8)
    assert y.get().tolist() == [0, 0, 1, 0]
    (y.data + 8).copy_to_host(host.ctypes.data, 8)
    assert host.tolist() == [1, 0]
    host[:] = 9
    y.data.copy_from(host.ctypes.data, 8)
    y.data.memset(0, 4)
    cp.cuda.Device().synchronize()
    assert y.get().tolist() == [0, 9, 1, 0]


@NEEDS_COMPILER
def test_a_graph_records_and_replays(cp: ModuleType) -> None:
    kernel, stream = cp.RawKernel(AXPY, "axpy"), cp.cuda.Stream(non_blocking=True)
    x, y = cp.ones(64, np.float32), cp.zeros(64, np.float32)
    kernel((1,), (64,), (np.float32(0), x, y, np.int32(64)))  # compiles: not allowed in a capture
    cp.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        kernel((1,), (64,), (np.float32(3), x, y, np.int32(64)))
        with pytest.raises(RuntimeError):
            y.get()
        graph = stream.end_capture()
    stream.synchronize()
    assert (y.get() == 0).all()
    graph.launch(stream)
    graph.launch(stream)
    stream.synchronize()
    assert (y.get() == 6).all()


# ----------------------------------------------------------------------------------------------------- captures
Operation = Callable[[ModuleType, Any, Any, Any], Any]  # of CuPy, a capturing stream, a float32 and an int32 matrix
#: What CuPy says of operations inside a capture, and the operations.
REFUSED: list[tuple[type[Exception], str, Operation]] = [
    *[
        (NotImplementedError, "cuBLAS", operation)
        for operation in (
            lambda cp, s, x, n: x @ x,
            lambda cp, s, x, n: x.dot(x),
            lambda cp, s, x, n: cp.dot(x, x[0]),
            lambda cp, s, x, n: cp.inner(x, x),
            lambda cp, s, x, n: cp.tensordot(x, x, 1),
            lambda cp, s, x, n: cp.einsum("ij,jk->ik", x, x),
            lambda cp, s, x, n: cp.linalg.matrix_power(x, 2),
            lambda cp, s, x, n: cp.cov(x),
        )
    ],
    *[
        (NotImplementedError, "cu(SOLVER|BLAS)", operation)
        for operation in (
            lambda cp, s, x, n: cp.linalg.svd(x),
            lambda cp, s, x, n: cp.linalg.qr(x),
            lambda cp, s, x, n: cp.linalg.eigh(x),
            lambda cp, s, x, n: cp.linalg.cholesky(x),
            lambda cp, s, x, n: cp.linalg.inv(x),
            lambda cp, s, x, n: cp.linalg.solve(x, x),
            lambda cp, s, x, n: cp.linalg.slogdet(x),
            lambda cp, s, x, n: cp.linalg.norm(x, 2),
        )
    ],
    (NotImplementedError, "cuRAND", lambda cp, s, x, n: cp.random.random(3)),
    (NotImplementedError, "cuRAND", lambda cp, s, x, n: cp.random.RandomState(0).normal(size=3)),
    *[
        (RuntimeError, "capturing, so H2D transfers are disallowed", operation)
        for operation in (
            lambda cp, s, x, n: cp.asarray(np.ones(3)),
            lambda cp, s, x, n: cp.array([1.0, 2.0]),
            lambda cp, s, x, n: x.set(np.ones((4, 4), np.float32)),
            lambda cp, s, x, n: x[[0, 1]],
            lambda cp, s, x, n: cp.take(x, [0, 1], 0),
            lambda cp, s, x, n: operator.setitem(x, [0, 1], 0),
            lambda cp, s, x, n: cp.concatenate([x] * 9),
            lambda cp, s, x, n: x.data.copy_from_host_async(HOST.ctypes.data, 4),
        )
    ],
    *[
        (RuntimeError, "capturing, so D2H transfers are disallowed", operation)
        for operation in (
            lambda cp, s, x, n: x.get(),
            lambda cp, s, x, n: x.get(blocking=False),
            lambda cp, s, x, n: cp.asnumpy(x),
            lambda cp, s, x, n: float(x[0, 0]),
            lambda cp, s, x, n: bool(x[0, 0]),
            lambda cp, s, x, n: x[0, 0].item(),
            lambda cp, s, x, n: x.tolist(),
            lambda cp, s, x, n: repr(x),
            lambda cp, s, x, n: x[x > 0],
            lambda cp, s, x, n: operator.setitem(x, x > 0, 1.0),
            lambda cp, s, x, n: x.nonzero(),
            lambda cp, s, x, n: cp.where(x > 0),
            lambda cp, s, x, n: cp.flatnonzero(x),
            lambda cp, s, x, n: cp.argwhere(x),
            lambda cp, s, x, n: cp.bincount(n[0]),
            lambda cp, s, x, n: cp.compress(x[0] > 0, x, 0),
            lambda cp, s, x, n: cp.extract(x > 0, x),
        )
    ],
    *[
        (RuntimeError, "capturing, so synchronous API calls are disallowed", operation)
        for operation in (
            lambda cp, s, x, n: x.data.memset(0, 4),
            lambda cp, s, x, n: x.data.copy_from_host(HOST.ctypes.data, 4),
            lambda cp, s, x, n: x.data.copy_to_host(HOST.copy().ctypes.data, 4),
            lambda cp, s, x, n: x.data.copy_from_device(x.data, 4),
        )
    ],
]


def captured(cp: ModuleType, operation: Operation) -> Any:
    """The graph of one operation, which has run once before: the real CuPy compiles its kernels then."""
    stream = cp.cuda.Stream(non_blocking=True)
    x, n = cp.eye(4, dtype=np.float32), cp.ones((4, 4), np.int32)
    cp.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        try:
            operation(cp, stream, x, n)
        except BaseException:
            stream.end_capture()
            raise
        return stream.end_capture()


@pytest.mark.parametrize(("error", "message", "operation"), REFUSED, ids=range(len(REFUSED)))
def test_what_cupy_refuses_in_a_capture(
    cp: ModuleType, error: type[Exception], message: str, operation: Operation
) -> None:
    with pytest.raises(error, match=message):
        captured(cp, operation)


CAPTURED: list[Operation] = [
    lambda cp, s, x, n: x + 2.0,
    lambda cp, s, x, n: n @ n,  # of integers: CuPy's own kernel
    lambda cp, s, x, n: cp.vdot(x, x),
    lambda cp, s, x, n: x[0] @ x[0],
    lambda cp, s, x, n: cp.einsum("ij->ji", x),
    lambda cp, s, x, n: cp.outer(x[0], x[0]),
    lambda cp, s, x, n: cp.linalg.norm(x),
    lambda cp, s, x, n: cp.array(3.0),
    lambda cp, s, x, n: cp.zeros(4),
    lambda cp, s, x, n: cp.arange(4),
    lambda cp, s, x, n: cp.take(x, n[0], 0),
    lambda cp, s, x, n: x[n[0]],
    lambda cp, s, x, n: cp.where(x > 0, x, 0),
    lambda cp, s, x, n: cp.allclose(x, x),
    lambda cp, s, x, n: cp.concatenate([x] * 8),
    lambda cp, s, x, n: cp.cumsum(x),
    lambda cp, s, x, n: x.data.memset_async(0, 4),
    lambda cp, s, x, n: x.data.copy_from_device_async(x[2:].data, 4),
    lambda cp, s, x, n: s.record(),
    lambda cp, s, x, n: cp.empty(1000),  # the default mode allows memory from the system
]


@pytest.mark.parametrize("operation", CAPTURED, ids=range(len(CAPTURED)))
def test_what_cupy_captures(cp: ModuleType, operation: Operation) -> None:
    x, n = cp.eye(4, dtype=np.float32), cp.ones((4, 4), np.int32)
    with cp.cuda.Stream(non_blocking=True) as stream:
        kept = operation(cp, stream, x, n)
        stream.synchronize()
    captured(cp, operation)
    del kept


SPOILING: list[tuple[str, Operation]] = [
    ("cudaErrorStreamCaptureUnsupported", lambda cp, s, x, n: s.synchronize()),
    ("cudaErrorStreamCaptureUnsupported", lambda cp, s, x, n: cp.cuda.Device().synchronize()),
    ("cudaErrorStreamCaptureUnsupported", lambda cp, s, x, n: cp.cuda.runtime.deviceSynchronize()),
    ("cudaErrorCapturedEvent", lambda cp, s, x, n: s.record().synchronize()),
]


@pytest.mark.parametrize(("name", "operation"), SPOILING, ids=range(len(SPOILING)))
def test_an_error_of_cudas_spoils_a_capture(cp: ModuleType, name: str, operation: Operation) -> None:
    x, stream = cp.ones(4), cp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match=name):
            operation(cp, stream, x, x)
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorStreamCaptureInvalidated"):
            stream.end_capture()
    assert not stream.is_capturing()
    stream.synchronize()


def test_to_ask_whether_a_capturing_stream_is_done_spoils_the_capture(cp: ModuleType) -> None:
    stream = cp.cuda.Stream(non_blocking=True)
    stream.begin_capture()
    assert not stream.done
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorStreamCaptureInvalidated"):
        stream.end_capture()


def test_a_capture_begins_and_ends_once(cp: ModuleType) -> None:
    stream = cp.cuda.Stream(non_blocking=True)
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorIllegalState"):
        stream.end_capture()
    stream.begin_capture()
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorIllegalState"):
        stream.begin_capture()
    stream.end_capture()


def test_other_streams_take_part_in_a_capture_by_events(cp: ModuleType) -> None:
    first, second = (cp.cuda.Stream(non_blocking=True) for _ in range(2))
    x = cp.arange(4)
    cp.cuda.Device().synchronize()
    with first:
        first.begin_capture()
        tripled = 3 * x
        second.wait_event(first.record())
        with second:
            result = tripled + 1
        first.wait_event(second.record())
        graph = first.end_capture()
    assert not second.is_capturing()
    graph.launch(first)
    first.synchronize()
    assert result.get().tolist() == [1, 4, 7, 10]


def test_a_capture_whose_streams_are_not_joined_fails(cp: ModuleType) -> None:
    first, second = (cp.cuda.Stream(non_blocking=True) for _ in range(2))
    x = cp.arange(4)
    cp.cuda.Device().synchronize()
    with first:
        first.begin_capture()
        second.wait_event(first.record())
        with second:
            kept = x + 1
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorStreamCaptureUnjoined"):
            first.end_capture()
        first.begin_capture()
        second.wait_event(first.record())
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorStreamCaptureUnmatched"):
            second.end_capture()
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorStreamCaptureInvalidated"):
            first.end_capture()
    del kept
    assert not first.is_capturing() and not second.is_capturing()


def test_the_default_stream_waits_for_streams_that_block(cp: ModuleType) -> None:
    stream = cp.cuda.Stream()
    stream.begin_capture()
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorStreamCaptureImplicit"):
        cp.cuda.Stream.null.is_capturing()
    stream.end_capture()
    assert not cp.cuda.Stream.null.is_capturing()


def test_host_functions_and_graphs_are_nodes_of_a_graph(cp: ModuleType) -> None:
    stream, calls, x = cp.cuda.Stream(non_blocking=True), [], cp.zeros(2)
    cp.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        cp.add(x, 1, out=x)
        stream.launch_host_func(calls.append, "called")
        inner = stream.end_capture()
        stream.begin_capture()
        inner.launch()
        inner.launch()
        outer = stream.end_capture()
        assert not calls
        outer.launch()
        stream.synchronize()
    assert calls == ["called"] * 2 and x.get().tolist() == [2, 2]
    with stream:
        stream.begin_capture()
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="cudaErrorStreamCaptureUnsupported"):
            stream.add_callback(lambda *arguments: None, None)
        with pytest.raises(cp.cuda.runtime.CUDARuntimeError):
            stream.end_capture()


def test_memory_from_the_system_only_in_a_relaxed_capture(cp: ModuleType) -> None:
    runtime, stream, pool = cp.cuda.runtime, cp.cuda.Stream(non_blocking=True), cp.cuda.MemoryPool()
    with stream, cp.cuda.using_allocator(pool.malloc):
        stream.begin_capture(runtime.streamCaptureModeGlobal)
        with pytest.raises(runtime.CUDARuntimeError, match="cudaErrorStreamCaptureUnsupported"):
            pool.malloc(1 << 22)
        with pytest.raises(runtime.CUDARuntimeError):
            stream.end_capture()


def test_the_books_of_a_memory_pool(cp: ModuleType) -> None:
    pool = cp.cuda.MemoryPool()
    with cp.cuda.using_allocator(pool.malloc):
        x = cp.zeros(1000, np.float32)
    assert pool.used_bytes() == 4096
    del x
    assert pool.used_bytes() == 0
