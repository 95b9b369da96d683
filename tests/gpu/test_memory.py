"""Peaks, pinned memory, and running out of memory."""
from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import lucid
from lucid import data

pytestmark = pytest.mark.skipif(not lucid.gpu.is_available(), reason=lucid.gpu.why_unavailable() or "")
MIB = 1 << 20


def test_peaks(uncollected: None) -> None:
    lucid.gpu.reset_peak_memory_stats()
    before = lucid.gpu.memory_allocated()
    assert lucid.gpu.max_memory_allocated() == before
    x = lucid.ones(MIB, device="gpu")
    y = x + 1
    del x, y
    z = lucid.ones(MIB // 4, device="gpu")
    assert before + 8 * MIB <= lucid.gpu.max_memory_allocated() < before + 10 * MIB
    assert before + MIB <= lucid.gpu.memory_allocated() < before + 2 * MIB
    assert lucid.gpu.max_memory_reserved() >= lucid.gpu.max_memory_allocated()
    stats = lucid.gpu.memory_stats()
    assert stats["allocated_bytes.all.peak"] == lucid.gpu.max_memory_allocated()
    assert stats["reserved_bytes.all.current"] == lucid.gpu.memory_reserved(0) == lucid.gpu.memory_reserved("gpu")
    assert f"{lucid.gpu.max_memory_allocated() / MIB:,.1f} MiB" in lucid.gpu.memory_summary()
    lucid.gpu.reset_peak_memory_stats()
    assert lucid.gpu.max_memory_allocated() == lucid.gpu.memory_allocated()
    del z


@pytest.fixture
def limited() -> Iterator[None]:
    import cupy

    gc.collect()
    lucid.gpu.empty_cache()  # arrays kept for reuse would make room
    pool = cupy.get_default_memory_pool()
    pool.set_limit(size=pool.used_bytes() + 4 * MIB)
    yield
    pool.set_limit(size=0)


@pytest.mark.parametrize("what", ["zeros", "copy", "operation"])
def test_out_of_memory_says_what_was_asked_for(limited: None, what: str) -> None:
    host, small = lucid.ones(2 * MIB), lucid.ones(2, MIB // 4, device="gpu")
    calls: dict[str, Any] = {"zeros": lambda: lucid.zeros(2 * MIB, device="gpu"), "copy": lambda: host.to("gpu"),
                             "operation": lambda: small.repeat(8, 1)}
    words = {"zeros": r"full on gpu:0", "copy": r"copy of \[2097152\] float32 to gpu:0", "operation": r"copy of \[8, 2, 1, 262144\] float32"}
    with pytest.raises(lucid.gpu.OutOfMemoryError, match=f"{words[what]}.*(?i:out of memory allocating) .*bytes") as caught:
        calls[what]()
    assert isinstance(caught.value, MemoryError) and isinstance(caught.value, RuntimeError)
    assert small[0, :8].sum().item() == 8  # smaller ones work


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool", "complex64"])
def test_pinned_memory(dtype: str) -> None:
    x = lucid.arange(12).reshape(3, 4).to(getattr(lucid, dtype))
    pinned = x.pin_memory()
    assert pinned.is_pinned() and not x.is_pinned() and not x.gpu().is_pinned() and pinned.dtype == x.dtype
    assert lucid.equal(pinned, x) and pinned.t().is_pinned()
    for source in (pinned, pinned.t(), pinned[1:], pinned[:, ::2], pinned[:0]):
        moved = source.to("gpu", non_blocking=True)
        assert moved.device == "gpu" and moved.shape == source.shape
        assert lucid.equal(moved.cpu(), source)
    with pytest.raises(RuntimeError, match="cannot pin"):
        moved.pin_memory()


def test_the_host_goes_on_and_the_source_is_kept() -> None:
    stream = lucid.gpu.Stream()
    with lucid.gpu.stream(stream):
        moved = lucid.arange(1000).pin_memory().cuda(non_blocking=True)  # the pinned tensor is gone
        doubled = moved * 2
    stream.synchronize()
    assert lucid.equal(doubled.cpu(), lucid.arange(1000) * 2)
    if lucid.gpu.is_simulated():  # a copy that is still to come sees what is written to its source, as on a GPU
        source = lucid.zeros(4).pin_memory()
        moved = source.to("gpu", non_blocking=True)
        source.fill_(1)
        lucid.gpu.synchronize()
        assert moved.tolist() == [1, 1, 1, 1]
        source = lucid.zeros(4).pin_memory()
        moved = source.to("gpu")
        source.fill_(1)
        assert moved.tolist() == [0, 0, 0, 0]


def test_copy_and_modules() -> None:
    target, source = lucid.zeros(2, 3, device="gpu"), lucid.ones(3).pin_memory()
    target.copy_(source, non_blocking=True)
    assert lucid.equal(target.cpu(), lucid.ones(2, 3))
    layer = lucid.nn.Linear(2, 3).to("gpu", non_blocking=True)
    assert layer.weight.device == "gpu"


class Pair(NamedTuple):
    x: Any
    name: str


@pytest.mark.parametrize("workers", [0, 1])
def test_data_loader(workers: int) -> None:
    samples = [(np.float32(i), {"n": i, "pair": Pair(lucid.tensor(float(i)), "a")}) for i in range(5)]
    loader = data.DataLoader(samples, batch_size=2, pin_memory=True, num_workers=workers)
    batches = list(loader)
    assert len(batches) == 3 and len(loader) == 3
    for x, rest in batches:
        assert x.is_pinned() and rest["n"].is_pinned() and rest["pair"].x.is_pinned() and rest["pair"].name[0] == "a"
    assert lucid.equal(batches[1][0].to("gpu", non_blocking=True).cpu(), lucid.tensor([2.0, 3.0]))


def test_data_loader_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lucid.backends, "available", lambda: False)
    with pytest.warns(UserWarning, match="no accelerator is found"):
        batches = list(data.DataLoader([1, 2], pin_memory=True))
    assert [batch.tolist() for batch in batches] == [[1], [2]]


def test_names_that_pytorch_has_given_up():
    for old, new in (("memory_cached", "memory_reserved"), ("max_memory_cached", "max_memory_reserved"),
                     ("reset_max_memory_allocated", "reset_peak_memory_stats"), ("reset_max_memory_cached", "reset_peak_memory_stats")):
        with pytest.warns(FutureWarning, match=new):
            found = getattr(lucid.gpu, old)()
        assert found == getattr(lucid.gpu, new)()
