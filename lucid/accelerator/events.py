"""`Event`: a point in the work of a device, by PyTorch's name for whatever the device is."""
from __future__ import annotations

from typing import Any

from .. import gpu
from ..backends.device import Device


class Event(gpu.Event):
    """A point in the work of a stream of `device`, by default of the current GPU, or of the CPU without one.

    Work on a CPU is done when it is asked for: it has no events to record, which raises RuntimeError, as in PyTorch.

    >>> start, end = lucid.Event("gpu", enable_timing=True), lucid.Event("gpu", enable_timing=True)
    >>> start.record()
    >>> y = lucid.ones(3, device="gpu") * 2
    >>> end.record()
    >>> end.synchronize()
    >>> start.elapsed_time(end) >= 0  # milliseconds
    True
    """

    def __init__(self, device: Any = None, *, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
                 ) -> None:
        for name, value in (("enable_timing", enable_timing), ("blocking", blocking), ("interprocess", interprocess)):
            if not isinstance(value, bool):
                raise TypeError(f"Event(): argument '{name}' must be bool, not {type(value).__name__}")
        super().__init__(enable_timing, blocking, interprocess)
        self._device = Device("gpu" if gpu.is_available() else "cpu") if device is None else Device(device)
        if self._device.type == "gpu" and not gpu.is_available():
            raise RuntimeError("Event: there is no GPU")

    @property
    def device(self) -> Device:
        """Where the work is done."""
        return self._device

    @property
    def event_id(self) -> int:
        """CUDA's handle; 0 before the event is recorded."""
        return 0 if self._event is None else int(self._event.ptr)

    def record(self, stream: gpu.Stream | None = None) -> None:
        """Mark the work that `stream`, by default the current one, has so far."""
        if self._device.type != "gpu":
            raise RuntimeError(f"{self._device.type} backend doesn't support events.")
        super().record(gpu.current_stream(self._device) if stream is None else stream)

    def wait(self, stream: gpu.Stream | None = None) -> None:
        """Let later work of `stream`, by default the current one, wait for the event."""
        if self._event is not None:
            super().wait(stream)

    def __repr__(self) -> str:
        state = "not recorded" if self._event is None else "done" if self.query() else "pending"
        return f"<lucid.Event device={self._device} {state}>"
