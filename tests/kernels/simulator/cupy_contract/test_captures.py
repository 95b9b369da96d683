"""Graphs: captures of streams, and what CuPy refuses in one."""
from __future__ import annotations

import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ..conftest import NEEDS_COMPILER
from .sources import AXPY, HOST, NORM, SQUARED

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
