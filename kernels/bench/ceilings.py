"""What a machine can do at most, whether a CPU (`roofline`) or a GPU (`gpu_roofline`), and the floor of a case that follows."""

from __future__ import annotations

from abc import ABC, abstractmethod


class Ceilings(ABC):
    """The bandwidth of memory and the peak of arithmetic, measured at the moment."""

    @abstractmethod
    def stream(self, bytes: int, traffic: str = "triad", seconds: float = 0.03) -> float:
        """Seconds in which memory, or the cache that holds so much, moves `bytes` in all."""

    @abstractmethod
    def peak(self, seconds: float = 0.03) -> float:
        """Single-precision operations a second."""

    def floor(self, bytes: int, traffic: str, flops: int, seconds: float = 0.03) -> float | None:
        """Seconds that a case with so much traffic and arithmetic takes at least; None if it names neither."""
        times = []
        if bytes:
            times.append(self.stream(bytes, traffic, seconds))
        if flops:
            times.append(flops / self.peak(seconds))
        return max(times, default=None)
