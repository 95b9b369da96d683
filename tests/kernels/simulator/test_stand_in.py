"""The stand-in for CuPy where it is stricter than CuPy, and a whole training step on it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from lucid_kernels import simulator
from lucid_kernels.simulator.cupy_stand_in import memory, reference

from .conftest import NEEDS_COMPILER

FLOAT = np.float32
KERNELS = r"""
extern "C" __global__ void softmax(const float* x, float* y, int columns) {
  __shared__ float scratch[32];
  const float* row = x + (long long)blockIdx.x * columns;
  float largest = -CUDART_INF_F, sum = 0.f;
  for (int i = threadIdx.x; i < columns; i += 32) largest = fmaxf(largest, row[i]);
  for (int d = 16; d; d >>= 1) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, d));
  for (int i = threadIdx.x; i < columns; i += 32) sum += expf(row[i] - largest);
  scratch[threadIdx.x] = sum;
  __syncthreads();
  sum = 0.f;
  for (int i = 0; i < 32; ++i) sum += scratch[i];
  for (int i = threadIdx.x; i < columns; i += 32) y[(long long)blockIdx.x * columns + i] = expf(row[i] - largest) / sum;
}
extern "C" __global__ void momentum_step(float* p, float* m, const float* g, float lr, const int* step, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  m[i] = 0.9f * m[i] + g[i];
  p[i] -= lr / (float)step[0] * m[i];
}
"""


# ----------------------------------------------------------------------------------------------------- installation
def test_install_is_idempotent_and_can_be_undone() -> None:
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] in ("cupy", "cupyx")}
    was_installed = simulator.installed()
    first = simulator.install()
    assert simulator.install() is first and simulator.installed()
    import cupy
    import cupyx

    assert cupy is first and cupyx.scatter_add
    from cupy.cuda import runtime
    from cupy_backends.cuda.libs import cublas

    assert runtime.getDeviceCount() == 1 and cublas.gemmStridedBatchedEx
    if not was_installed:
        simulator.uninstall()
        after = {name: module for name, module in sys.modules.items() if name.split(".")[0] in ("cupy", "cupyx")}
        assert not simulator.installed() and before.items() <= after.items()


def test_looking_at_the_real_cupy_leaves_the_stand_in_installed(cp: ModuleType) -> None:
    reference.find.cache_clear()
    reference.version.cache_clear()
    reference.find("sum")
    import cupy

    assert cupy is cp


def test_names_and_arguments_are_cupys(cp: ModuleType) -> None:
    if reference.version() is None:
        pytest.skip("no CuPy is installed, or LUCID_SIMULATOR_CHECK_API=0: there is nothing to compare with")
    with pytest.raises(AttributeError):
        _ = cp.busday_count
    with pytest.raises(TypeError):
        cp.sum(cp.ones(3), where=True)  # NumPy has it, CuPy has not


def test_unknown_names_raise(cp: ModuleType) -> None:
    assert not hasattr(cp, "no_such_function") and not hasattr(cp.ones(1), "no_such_method")
    with pytest.raises(TypeError, match="does not take where"):
        cp.add(cp.ones(3), 1, where=True)


def test_what_is_lacking_says_so_in_one_line(cp: ModuleType) -> None:
    import cupyx
    import cupyx.jit

    lookups: list[tuple[Callable[[], Any], str]] = [
        (lambda: cp.no_such_function, "cupy.no_such_function: .*ask for it"),
        (lambda: cp.vectorize, "cupy.vectorize: write an ElementwiseKernel"),
        (lambda: cp.cuda.ExternalStream, "cupy.cuda.Stream"),
        (lambda: cp.cuda.runtime.no_such_call, "cupy.cuda.runtime.no_such_call"),
        (lambda: cp.linalg.no_such_function, "cupy.linalg.no_such_function"),
        (lambda: cupyx.jit.rawkernel, "cupyx.jit.rawkernel: write a RawKernel"),
        (lambda: cupyx.no_such_function, "cupyx.no_such_function"),
        (lambda: cupyx.profiler.benchmark, "times on a simulator mean nothing"),
    ]
    for lookup, message in lookups:
        with pytest.raises(AttributeError, match=message) as raised:
            lookup()
        assert "\n" not in str(raised.value)
    with pytest.raises(ImportError, match="lacks cupyx.scipy.special: .*cupy.asnumpy"):
        import cupyx.scipy.special


# ----------------------------------------------------------------------------------------------------- arrays
def test_no_implicit_transfer(cp: ModuleType) -> None:
    x, host = cp.ones((2, 3), FLOAT), np.ones((2, 3), FLOAT)
    mixes: list[Callable[[], Any]] = [
        lambda: x + host,
        lambda: host + x,
        lambda: np.asarray(x),
        lambda: cp.concatenate([x, host]),
        lambda: np.add(x, x, out=host),
        lambda: np.stack([host, x]),
        lambda: host.__iadd__(x),
        lambda: cp.add.at(x, np.zeros(1, int), 1),
        lambda: x[np.zeros(1, int)],
        lambda: x.sum(out=host),
        lambda: cp.zeros_like(host),
        lambda: cp.from_dlpack(host),
    ]
    for mix in mixes:
        with pytest.raises((TypeError, BufferError)):
            mix()
    with pytest.raises(ValueError, match="non-scalar"):
        x[...] = host
    x[0, 0] = np.array(5)  # 0-d is a scalar
    assert float(x[0, 0]) == 5


def test_unsupported_dtypes_are_refused(cp: ModuleType) -> None:
    for dtype in (object, "U3", "M8[s]", np.longdouble):
        with pytest.raises(ValueError, match="Unsupported dtype"):
            cp.zeros(2, dtype)
    with pytest.raises(ValueError, match="Unsupported dtype"):
        cp.asarray(["a"])


def test_fresh_memory_is_nan(cp: ModuleType) -> None:
    assert np.isnan(cp.empty(4, FLOAT).get()).all()


def test_no_warnings_as_on_a_gpu(cp: ModuleType, recwarn: pytest.WarningsRecorder) -> None:
    assert np.isinf((cp.ones(1) / cp.zeros(1)).get()).all() and np.isnan(cp.log(-cp.ones(1)).get()).all()
    assert not recwarn.list


def test_memory_limit(cp: ModuleType) -> None:
    pool = cp.get_default_memory_pool()
    pool.set_limit(size=4096)
    try:
        with pytest.raises(MemoryError, match="limit set to"):
            cp.empty(1 << 20)
    finally:
        pool.set_limit(0)


def test_arrays_at_an_address(cp: ModuleType) -> None:
    base = cp.arange(6, dtype=FLOAT)
    part = cp.ndarray((2,), FLOAT, memptr=base[3:].data)
    part[...] = 9
    assert base.get().tolist() == [0, 1, 2, 9, 9, 5]
    columns = cp.ndarray((3,), FLOAT, memptr=base.data, strides=(8,))
    assert columns.get().tolist() == [0, 2, 9]
    with pytest.raises(ValueError, match="does not fit"):
        cp.ndarray((7,), FLOAT, memptr=base.data)


def test_synchronisation_can_be_forbidden(cp: ModuleType) -> None:
    import cupyx

    x = cp.ones(4, FLOAT)
    with cupyx.allow_synchronize(False):
        y = x + 1
        for wait in (lambda: float(y.sum()), y.get, lambda: bool(y[0]), lambda: y[y > 1], lambda: cp.nonzero(y)):
            with pytest.raises(cupyx.DeviceSynchronized, match="synchronises"):
                wait()


def test_pinned_copies_are_pending_until_ordered(cp: ModuleType) -> None:
    import cupyx

    stream, x = cp.cuda.Stream(non_blocking=True), cp.zeros(3, FLOAT)
    pinned = cupyx.empty_pinned(3, FLOAT)
    pinned[:] = 1
    x.set(pinned, stream=stream)
    pinned[:] = 2  # too early
    stream.synchronize()
    assert x.get().tolist() == [2, 2, 2]
    pinned[:] = 3
    x.set(pinned, stream=stream)
    event = stream.record()
    assert not event.done
    cp.cuda.get_current_stream().wait_event(event)
    assert event.done
    pinned[:] = 4
    assert x.get().tolist() == [3, 3, 3]


# ----------------------------------------------------------------------------------------------------- kernels
@NEEDS_COMPILER
def test_kernel_arguments_are_checked(cp: ModuleType) -> None:
    x = cp.ones((4, 32), FLOAT)
    kernel = cp.RawModule(code=KERNELS).get_function("softmax")
    for arguments, message in (
        ((x, x, 32), "explicitly typed"),
        ((x, x, np.int64(32)), "wants i4"),
        ((x, x), "takes 3"),
        ((x.astype(np.float16), x, np.int32(32)), "pointer to f4"),
        ((x.T, x, np.int32(32)), "C-contiguous"),
        ((x.data, x, np.int32(32)), "not its MemoryPointer"),
        ((x.get(), x, np.int32(32)), "size one"),
    ):
        with pytest.raises(TypeError, match=message):
            kernel((4,), (32,), arguments)
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="max_dynamic_shared_size"):
        kernel((4,), (32,), (x, x, np.int32(32)), shared_mem=60000)
    with pytest.raises(cp.cuda.runtime.CUDARuntimeError, match="not found"):
        cp.RawModule(code=KERNELS).get_function("no_such_kernel")


@NEEDS_COMPILER
@pytest.mark.skipif(not memory.GUARD, reason="LUCID_SIMULATOR_GUARD=0 turns the guard pages off")
def test_a_kernel_that_leaves_its_array_is_reported(cp: ModuleType) -> None:
    kernel = cp.RawKernel('extern "C" __global__ void k(float* x, int n) { x[n] = 1; }', "k")
    with pytest.raises(simulator.SimulatorError, match="invalid memory access"):
        kernel((1,), (1,), (cp.zeros(4, FLOAT), np.int32(4)))


TYPES = {"float32": 0, "float64": 1, "float16": 2}
ONE, ZERO = np.ones(1, FLOAT), np.zeros(1, FLOAT)


def matmul(cp: ModuleType, a: Any, b: Any, ta: bool = False, tb: bool = False) -> Any:
    """op(a) @ op(b), row-major; cuBLAS, which is column-major, computes its transpose."""
    from cupy.cuda import cublas

    m, k = a.shape[::-1] if ta else a.shape
    n = b.shape[0] if tb else b.shape[1]
    out = cp.empty((m, n), a.dtype)
    dtype = TYPES[a.dtype.name]
    cublas.gemmStridedBatchedEx(
        cp.cuda.device.get_cublas_handle(), int(tb), int(ta), n, m, k,
        ONE.ctypes.data, b.data.ptr, dtype, b.shape[1], 0, a.data.ptr, dtype, a.shape[1], 0,
        ZERO.ctypes.data, out.data.ptr, dtype, n, 0, 1, cublas.CUBLAS_COMPUTE_32F, cublas.CUBLAS_GEMM_DEFAULT,
    )  # fmt: skip
    return out


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
def test_cublas_layouts(cp: ModuleType, ta: bool, tb: bool) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((7, 5), dtype=FLOAT), rng.standard_normal((5, 4), dtype=FLOAT)
    on_device = cp.asarray(a.T.copy() if ta else a), cp.asarray(b.T.copy() if tb else b)
    np.testing.assert_allclose(matmul(cp, *on_device, ta, tb).get(), a @ b, atol=1e-5)


def test_cublas_refuses_to_leave_an_allocation(cp: ModuleType) -> None:
    from cupy.cuda import cublas

    a, out = cp.ones((4, 4), FLOAT), cp.empty((4, 4), FLOAT)
    operands = (ONE.ctypes.data, a.data.ptr, 0, 5, 0, a.data.ptr, 0, 4, 0, ZERO.ctypes.data, out.data.ptr, 0, 4, 0, 1, 68, -1)
    with pytest.raises(ValueError, match="not inside one block"):
        cublas.gemmStridedBatchedEx(1, 0, 0, 4, 4, 4, *operands)


# ----------------------------------------------------------------------------------------------------- graphs
def product(a: Any, b: Any) -> Any:
    """A matrix product without cuBLAS, which CuPy refuses to capture."""
    return (a[:, :, None] * b[None]).sum(axis=1)


class Net:
    """A two-layer classifier with momentum: what a GPU path does in a step."""

    def __init__(self, cp: ModuleType) -> None:
        rng = np.random.default_rng(0)
        self.cp = cp
        self.module = cp.RawModule(code=KERNELS, options=("-std=c++17",))
        self.weights = [cp.asarray(rng.standard_normal(shape, dtype=FLOAT) * 0.5) for shape in ((4, 8), (8, 3))]
        self.momenta = [cp.zeros_like(weight) for weight in self.weights]
        self.steps = cp.zeros(1, np.int32)

    def __call__(self, x: Any, y: Any) -> Any:
        cp = self.cp
        hidden = cp.maximum(product(x, self.weights[0]), FLOAT(0))
        logits = product(hidden, self.weights[1])
        p = cp.empty_like(logits)
        self.module.get_function("softmax")((len(x),), (32,), (logits, p, np.int32(3)))
        loss = -(y * cp.log(p)).sum() / FLOAT(len(x))
        d_logits = (p - y) / FLOAT(len(x))
        d_hidden = product(d_logits, self.weights[1].T) * (hidden > 0).astype(FLOAT)
        gradients = [product(x.T, d_hidden), product(hidden.T, d_logits)]
        cp.add(self.steps, np.int32(1), out=self.steps)
        step = self.module.get_function("momentum_step")
        for weight, momentum, gradient in zip(self.weights, self.momenta, gradients, strict=True):
            size = np.int32(weight.size)
            step((1,), (64,), (weight, momentum, gradient, FLOAT(0.1), self.steps, size))
        return loss


def batch(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((5, 4), dtype=FLOAT), np.eye(3, dtype=FLOAT)[rng.integers(0, 3, 5)]


@NEEDS_COMPILER
def test_a_captured_step_equals_the_eager_one(cp: ModuleType) -> None:
    eager, captured = Net(cp), Net(cp)
    static = [cp.asarray(part) for part in batch(0)]
    stream, pool = cp.cuda.Stream(non_blocking=True), cp.cuda.MemoryPool()
    with stream, cp.cuda.using_allocator(pool.malloc):
        captured(*static)
        stream.synchronize()
        stream.begin_capture()
        loss = captured(*static)
        graph = stream.end_capture()
    eager(*static)
    for seed in range(4):
        for target, part in zip(static, batch(seed), strict=True):
            target.set(part, stream=stream)
        graph.launch(stream)
        np.testing.assert_allclose(loss.get(), eager(*map(cp.asarray, batch(seed))).get(), rtol=1e-5)
    assert int(captured.steps[0]) == 5
    for left, right in zip(eager.weights, captured.weights, strict=True):
        np.testing.assert_allclose(left.get(), right.get(), rtol=1e-5)


@NEEDS_COMPILER
def test_a_graph_without_its_own_pool_is_refused(cp: ModuleType) -> None:
    net, stream = Net(cp), cp.cuda.Stream(non_blocking=True)
    static = [cp.asarray(part) for part in batch(0)]
    with stream:
        stream.begin_capture()
        net(*static)  # its intermediate results die here
        graph = stream.end_capture()
    with pytest.raises(RuntimeError, match="freed since the capture"):
        graph.launch(stream)


def test_a_capture_does_not_run_and_forbids_waiting(cp: ModuleType) -> None:
    x, stream = cp.ones(4, FLOAT), cp.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        intermediate = x + 1
        y = intermediate * 2
        x[0] = 5
        with pytest.raises(RuntimeError, match="capturing"):
            y.get()
        with pytest.raises(RuntimeError, match="capturing"):
            cp.asarray(np.ones(3))
        graph = stream.end_capture()
    assert np.isnan(y.get()).all() and x.get().tolist() == [1, 1, 1, 1]
    graph.launch(stream)
    assert y.get().tolist() == [4, 4, 4, 4] and x.get().tolist() == [5, 1, 1, 1]
    del intermediate
    with pytest.raises(RuntimeError, match="freed since the capture"):
        graph.launch(stream)
    with pytest.raises(RuntimeError, match="default"):
        cp.cuda.Stream.null.begin_capture()


@NEEDS_COMPILER
def test_what_is_captured_last_has_its_memory(cp: ModuleType) -> None:
    from lucid_kernels.cuda.matmul import products

    x, pool, stream = cp.ones((3, 3), FLOAT), cp.cuda.MemoryPool(), cp.cuda.Stream(non_blocking=True)
    products.matmul(x, x)
    with stream, cp.cuda.using_allocator(pool.malloc):
        stream.begin_capture()
        y = products.matmul(products.matmul(x + 1, x), x)  # whose intermediate results are the pool's again
        cp.copyto(y, cp.full((), 5, FLOAT), where=x > 1)
        graph = stream.end_capture()
    assert np.isnan(y.get()).all()
    for number, expected in ((1, 18), (2, 5)):
        x[...] = number
        graph.launch()
        assert (y.get() == expected).all()


def _linear(x: Any) -> Any:
    from lucid_kernels.cuda.matmul import epilogues

    return epilogues.linear(x, x, x[0].copy())


def _product(x: Any) -> Any:
    from lucid_kernels.cuda.matmul import products

    return products.matmul(x, x)


def _kernel(x: Any) -> Any:
    from lucid_kernels.cuda.elementwise import elementwise

    return elementwise.relu(x)


@NEEDS_COMPILER
@pytest.mark.parametrize("call", [_linear, _product, _kernel])
def test_every_call_notices_memory_that_is_gone(cp: ModuleType, call: Callable[[Any], Any]) -> None:
    """A pool of the graph's own has it back and keeps it; any other pool gives it to somebody else."""
    stream = cp.cuda.Stream(non_blocking=True)
    call(cp.ones((8, 8), FLOAT))  # what is tried once, or compiled, is not captured
    for allocator in (cp.cuda.MemoryPool(), cp.get_default_memory_pool()):
        x = cp.ones((8, 8), FLOAT)
        with stream, cp.cuda.using_allocator(allocator.malloc):
            stream.begin_capture()
            middle = x + 1
            y = call(middle)
            del middle
            graph = stream.end_capture()
        if not allocator.private:
            with pytest.raises(RuntimeError, match="freed since the capture"):
                graph.launch()
            continue
        graph.launch()
        assert (y.get() == call(x + 1).get()).all()
        del x
        with pytest.raises(RuntimeError, match="freed since the capture"):
            graph.launch()
