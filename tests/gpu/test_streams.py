"""Streams and events."""
from __future__ import annotations

import pytest

import lucid

pytestmark = pytest.mark.skipif(not lucid.gpu.is_available(), reason=lucid.gpu.why_unavailable() or "")


def test_streams_are_chosen_by_contexts() -> None:
    default = lucid.gpu.default_stream()
    assert lucid.gpu.current_stream() == default and default.cuda_stream == 0 and default.device == "gpu:0"
    first, second = lucid.gpu.Stream(), lucid.gpu.Stream("gpu:0", priority=-1)
    assert first != second and first != default and len({first, second, lucid.gpu.current_stream(), default}) == 3
    with lucid.gpu.stream(first):
        assert lucid.gpu.current_stream() == first
        with second as entered, lucid.gpu.stream(None):
            assert lucid.gpu.current_stream() == second == entered
        assert lucid.gpu.current_stream() == first
    assert lucid.gpu.current_stream(0) == default
    with pytest.raises(ZeroDivisionError), first:
        1 / 0  # noqa: B018
    assert lucid.gpu.current_stream() == default
    try:
        lucid.gpu.set_stream(first)
        lucid.gpu.set_stream(None)
        assert lucid.gpu.current_stream() == first
    finally:
        lucid.gpu.set_stream(default)
    assert "cuda_stream=0x" in repr(first)


def test_work_in_order() -> None:
    stream, event = lucid.gpu.Stream(), lucid.gpu.Event()
    assert event.query() and "not recorded" in repr(event)
    with lucid.gpu.stream(stream):
        x = lucid.arange(10).pin_memory().to("gpu", non_blocking=True)
    event.record(stream)
    lucid.gpu.current_stream().wait_event(event)
    y = x * 3
    stream.wait_stream(lucid.gpu.current_stream())
    with stream:
        z = y + 1
    event = stream.record_event()
    event.synchronize()
    assert event.query() and stream.query() and "done" in repr(event)
    event.wait()
    assert z.tolist() == [3 * i + 1 for i in range(10)]


def test_errors_of_a_stream_are_raised_when_it_is_waited_for() -> None:
    stream = lucid.gpu.Stream()
    with stream:
        lucid.nn.functional.embedding(lucid.tensor([7], device="gpu"), lucid.ones(3, 2, device="gpu"))
    with pytest.raises(IndexError):
        stream.synchronize()


def test_elapsed_time() -> None:
    start, end = lucid.gpu.Event(enable_timing=True), lucid.gpu.Event(enable_timing=True)
    with pytest.raises(ValueError, match="must be recorded"):
        start.elapsed_time(end)
    start.record()
    lucid.ones(1000, device="gpu").sum()
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    with pytest.raises(ValueError, match="enable_timing=True"):
        start.elapsed_time(lucid.gpu.Event())
    with pytest.raises(NotImplementedError, match="other processes"):
        lucid.gpu.Event(interprocess=True)


def test_capturing() -> None:
    assert not lucid.gpu.is_current_stream_capturing()
    stream = lucid.gpu.Stream()
    with stream:
        stream._stream.begin_capture()
        assert lucid.gpu.is_current_stream_capturing()
        stream._stream.end_capture()


def test_events_of_whatever_device() -> None:
    gpu = lucid.gpu
    event = lucid.Event("gpu", enable_timing=True)
    assert isinstance(event, gpu.Event) and event.query() and event.event_id == 0 and event.device.type == "gpu"
    event.wait()
    event.record()
    event.record(gpu.current_stream())
    event.wait()
    event.synchronize()
    assert event.query() and event.elapsed_time(event) == 0 and "done" in repr(event)
    assert lucid.Event().device.type == "gpu"
    on_cpu = lucid.Event("cpu")
    assert on_cpu.query() and on_cpu.wait() is None and on_cpu.synchronize() is None
    with pytest.raises(RuntimeError, match="cpu backend doesn't support events"):
        on_cpu.record()
    with pytest.raises(TypeError, match="'enable_timing' must be bool"):
        lucid.Event(enable_timing=1)
