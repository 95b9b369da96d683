"""What a machine can do at most, whether a CPU (`roofline`) or a GPU (`gpu_roofline`), and the floor of a case that follows."""

from __future__ import annotations

from abc import ABC, abstractmethod

#: What a case computes in on a GPU -> cuBLAS's names of the types of matrices and sums, and how often it multiplies. A CPU has
#: float32 alone.
ARITHMETIC = {"float32": ("float32", "float32", 1), "tf32": ("float32", "tf32", 1), "3xtf32": ("float32", "tf32", 3),
              "float16": ("float16", "float32", 1), "bfloat16": ("bfloat16", "float32", 1)}


class Ceilings(ABC):
    """The bandwidth of memory and the peak of arithmetic, measured at the moment."""

    @abstractmethod
    def stream(self, bytes: int, traffic: str = "triad", seconds: float = 0.03) -> float:
        """Seconds in which memory, or the cache that holds so much, moves `bytes` in all."""

    @abstractmethod
    def peak(self, seconds: float = 0.03, arithmetic: str = "float32") -> float:
        """Operations a second; `arithmetic` is a key of `ARITHMETIC`."""

    def floor(self, bytes: int, traffic: str, flops: int, seconds: float = 0.03, arithmetic: str = "float32") -> float | None:
        """Seconds that a case with so much traffic and arithmetic takes at least; None if it names neither."""
        times = []
        if bytes:
            times.append(self.stream(bytes, traffic, seconds))
        if flops:
            times.append(flops / self.peak(seconds, arithmetic))
        return max(times, default=None)
