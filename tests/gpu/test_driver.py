"""What programs ask of CUDA beside arrays: ranges for profilers, peers, architectures, limits, several GPUs."""
from __future__ import annotations

import sys
import types
from typing import Any

import pytest

import lucid
from lucid.backends import gpu_probe

pytestmark = pytest.mark.skipif(not lucid.gpu.is_available(), reason=lucid.gpu.why_unavailable() or "")


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a GPU."""
    def gpu_module() -> Any:
        raise RuntimeError("no GPU")

    monkeypatch.setattr(lucid.backends, "available", lambda: False)
    monkeypatch.setattr(lucid.backends, "gpu_module", gpu_module)


def test_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    from lucid.backends.gpu import driver

    calls: list[Any] = []
    for name in ("range_push", "range_pop", "mark"):
        monkeypatch.setattr(driver, name, lambda *arguments, name=name: calls.append((name, *arguments)))
    nvtx = lucid.gpu.nvtx
    with nvtx.range("batch {}", 3):
        assert nvtx.range_push("inner") == 1
        assert nvtx.range_pop() == 1
    assert nvtx.range_pop() == -1
    assert calls == [("range_push", "batch 3"), ("range_push", "inner"), ("range_pop",), ("range_pop",)]
    nvtx.range_end(nvtx.range_start("copy"))
    nvtx.mark("now")
    assert calls[4:] == [("mark", "start: copy"), ("mark", "end: copy"), ("mark", "now")]


def test_profilers_and_the_runtime() -> None:
    with lucid.gpu.profiler.profile():
        pass
    runtime = lucid.gpu.cudart()
    lucid.gpu.check_error(runtime.cudaProfilerStart())
    lucid.gpu.check_error(runtime.cudaProfilerStop())
    free, total = runtime.cudaMemGetInfo(0)
    assert 0 < free <= total == lucid.gpu.mem_get_info()[1]  # other processes use the GPU: what is free differs in each call
    with pytest.raises(lucid.gpu.CudaError, match=r"\(2\)"):
        lucid.gpu.check_error(2)


def test_what_gpus_are() -> None:
    major, minor = lucid.gpu.get_device_capability()
    assert f"sm_{major}{minor}" in lucid.gpu.get_arch_list()
    assert f"code=sm_{major}{minor}" in lucid.gpu.get_gencode_flags()
    assert lucid.gpu.is_tf32_supported() == (major >= 8)
    assert not lucid.gpu.can_device_access_peer(0, 0)
    with pytest.raises(RuntimeError, match="does not exist"):
        lucid.gpu.can_device_access_peer(0, lucid.gpu.device_count())
    with lucid.gpu.device_of(lucid.ones(1, device="gpu")), lucid.gpu.device_of(lucid.ones(1)):
        assert lucid.gpu.current_device() == 0
    assert lucid.gpu.default_generators == (lucid.default_generator,) * lucid.gpu.device_count()
    lucid.ones(1, device="gpu")
    assert lucid.gpu._initialized


def test_limits_of_memory() -> None:
    with pytest.raises(TypeError, match="float"):
        lucid.gpu.set_per_process_memory_fraction(1)
    with pytest.raises(ValueError, match="0~1"):
        lucid.gpu.set_per_process_memory_fraction(1.5)
    total = lucid.gpu.mem_get_info()[1]
    lucid.gpu.empty_cache()
    reserved = lucid.gpu.memory_reserved()
    try:
        lucid.gpu.set_per_process_memory_fraction((reserved + 4096) / total)
        with pytest.raises(lucid.gpu.OutOfMemoryError):
            lucid.empty(reserved // 4 + (1 << 20), device="gpu")  # more than there is free in what is reserved
    finally:
        lucid.gpu.set_per_process_memory_fraction(1.0)
    assert lucid.gpu.get_per_process_memory_fraction() == 1.0
    lucid.empty(1 << 20, device="gpu")


def test_memory_by_address(uncollected: None) -> None:
    before = lucid.gpu.memory_allocated()
    address = lucid.gpu.caching_allocator_alloc(1 << 20)
    assert lucid.gpu.memory_allocated() - before >= 1 << 20
    lucid.gpu.caching_allocator_delete(address)
    assert lucid.gpu.memory_allocated() == before
    with pytest.raises(RuntimeError, match="not an address"):
        lucid.gpu.caching_allocator_delete(address)
    nested = lucid.gpu.memory_stats_as_nested_dict()
    assert nested["allocated_bytes"]["all"]["current"] == lucid.gpu.memory_stats()["allocated_bytes.all.current"]


def test_where_the_host_waits_is_not_watched() -> None:
    lucid.gpu.set_sync_debug_mode(0)
    assert lucid.gpu.get_sync_debug_mode() == 0
    with pytest.raises(NotImplementedError):
        lucid.gpu.set_sync_debug_mode("warn")
    with pytest.raises(RuntimeError, match="expected one of"):
        lucid.gpu.set_sync_debug_mode("abc")


def test_streams_as_contexts() -> None:
    side = lucid.gpu.Stream()
    context = lucid.gpu.stream(side)
    assert isinstance(context, lucid.gpu.StreamContext) and context.stream is side
    with context, context:
        assert lucid.gpu.current_stream() == side
    assert lucid.gpu.current_stream() == lucid.gpu.default_stream()
    with lucid.gpu.stream(None):
        assert lucid.gpu.current_stream() == lucid.gpu.default_stream()


def test_the_management_library(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = types.SimpleNamespace(used=7, gpu=90, memory=40, pid=3, usedGpuMemory=2 << 20)
    library = types.ModuleType("pynvml")
    vars(library).update(
        nvmlInit=lambda: None, NVMLError_DriverNotLoaded=OSError, nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetMemoryInfo=lambda handle: numbers, nvmlDeviceGetUtilizationRates=lambda handle: numbers,
        nvmlDeviceGetTemperature=lambda handle, sensor: 60, nvmlDeviceGetPowerUsage=lambda handle: 300,
        nvmlDeviceGetClockInfo=lambda handle, kind: 1980, nvmlDeviceGetComputeRunningProcesses=lambda handle: [numbers])
    gpu = lucid.gpu
    monkeypatch.setitem(sys.modules, "pynvml", library)
    assert [gpu.device_memory_used(), gpu.utilization(), gpu.memory_usage(), gpu.temperature(), gpu.power_draw(),
            gpu.clock_rate()] == [7, 90, 40, 60, 300, 1980]
    assert "process          3 uses        2.000 MB" in gpu.list_gpu_processes()
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert "nvidia-ml-py" in gpu.list_gpu_processes()
    with pytest.raises(ModuleNotFoundError, match="nvidia-ml-py"):
        gpu.utilization()


def test_several_gpus_by_one() -> None:
    comm = lucid.gpu.comm
    x = lucid.arange(4.0).reshape(2, 2)
    (copy,) = comm.broadcast(x, ["cuda:0"])
    assert copy.device == "gpu:0" and lucid.equal(copy.cpu(), x)
    target = lucid.empty(2, 2, device="gpu")
    assert comm.broadcast(x, out=[target])[0] is target and lucid.equal(target.cpu(), x)
    with pytest.raises(RuntimeError, match="Exactly one"):
        comm.broadcast(x)
    assert comm.broadcast_coalesced([x, x], [0])[0][1].device == "gpu:0"
    (part,) = comm.scatter(x, [0], [2], dim=1)
    assert lucid.equal(part.cpu(), x)
    parts = comm.scatter(x, dim=1, out=[lucid.empty(2, 1, device="gpu"), lucid.empty(2, 1, device="gpu")])
    assert lucid.equal(comm.gather(parts, 1, "cpu"), x) and comm.gather(parts, 1).device == "gpu:0"
    assert lucid.equal(comm.gather(parts, 1, out=lucid.empty(2, 2)), x)
    assert lucid.equal(comm.reduce_add([copy, copy]).cpu(), 2 * x) and lucid.equal(copy.cpu(), x)
    assert lucid.equal(comm.reduce_add_coalesced([[copy], [copy]])[0].cpu(), 2 * x)
    with pytest.raises(AssertionError, match="input 1 is on CPU"):
        comm.reduce_add([copy, x])
    with pytest.raises(ValueError, match="invalid size: got 2, but expected 2x2"):
        comm.reduce_add([copy, copy[0]])


def test_without_a_gpu(no_gpu: None) -> None:
    gpu = lucid.gpu
    assert not gpu.is_available() and gpu.device_count() == 0 and gpu.default_generators == ()
    assert gpu.get_arch_list() == [] and gpu.get_gencode_flags() == "" and gpu.get_rng_state_all() == []
    assert not gpu.is_tf32_supported() and not gpu.is_bf16_supported()
    assert gpu.memory_stats() == gpu.memory_stats_as_nested_dict() == gpu.host_memory_stats() == {}
    assert gpu.memory_allocated() == gpu.max_memory_allocated() == gpu.memory_reserved() == gpu.max_memory_reserved() == 0
    for quiet in (gpu.empty_cache, gpu.reset_peak_memory_stats, gpu.ipc_collect, gpu.seed_all, gpu.reset_accumulated_memory_stats):
        quiet()
    gpu.manual_seed_all(3)
    assert "0.0 MiB" in gpu.memory_summary()
    for needs in (gpu.current_device, gpu.current_stream, gpu.get_device_properties, gpu.mem_get_info, gpu.init, gpu.Stream,
                  gpu.current_blas_handle, gpu.cudart, gpu.profiler.start, lambda: gpu.can_device_access_peer(0, 0),
                  lambda: gpu.nvtx.range_push("x"), gpu.get_per_process_memory_fraction):
        with pytest.raises(RuntimeError):
            needs()
    assert gpu_probe.gpu_problem() is None  # the fixture, not the machine
