"""`lucid.backends.cudnn`: how convolutions on a GPU compute, by the names of `torch.backends.cudnn`. lucid does not use cuDNN.

`allow_tf32`: whether convolutions of float32 may run on tensor cores as TF32, which keeps 10 of the 23 bits of each factor and
adds in float32. True by default, as in PyTorch. False is exact float32, at the speed of the other arithmetic units. CPUs are
always exact.

`benchmark`, `benchmark_limit`, `deterministic` and `enabled` keep what programs write into them, and change nothing: algorithms
are chosen by shapes, and the same each time.

>>> lucid.backends.cudnn.allow_tf32 in (True, False)
True
"""
from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lucid_kernels import tf32

if TYPE_CHECKING:
    allow_tf32: bool  # a property of the module's class

__all__ = ["allow_tf32", "benchmark", "benchmark_limit", "deterministic", "enabled", "flags", "is_acceptable", "is_available",
           "version"]


class _Module(types.ModuleType):
    """This module, in which `allow_tf32` is a setting and not only a name."""

    @property
    def allow_tf32(self) -> bool:
        return tf32.convolutions

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError(f"set_allow_tf32_cudnn expects a bool, but got {type(value).__name__}")
        tf32.convolutions = value


benchmark, benchmark_limit, deterministic, enabled = False, 10, False, True


def version() -> None:
    """None: cuDNN is not used.

    >>> lucid.backends.cudnn.version()
    """


def is_available() -> bool:
    """False: cuDNN is not used.

    >>> lucid.backends.cudnn.is_available()
    False
    """
    return False


def is_acceptable(tensor: object) -> bool:
    """False: cuDNN computes with no tensor.

    >>> lucid.backends.cudnn.is_acceptable(lucid.ones(1))
    False
    """
    return False


@contextlib.contextmanager
def flags(enabled: bool = False, benchmark: bool = False, benchmark_limit: int = 10, deterministic: bool = False,
          allow_tf32: bool = True, fp32_precision: str = "none", depthwise_kernel: str = "auto") -> Iterator[None]:
    """Let `allow_tf32` have a value in this context, and the switches that change nothing.

    >>> with lucid.backends.cudnn.flags(allow_tf32=False):
    ...     print(lucid.backends.cudnn.allow_tf32)
    False
    """
    module = sys.modules[__name__]
    values = {"allow_tf32": allow_tf32, "enabled": enabled, "benchmark": benchmark, "benchmark_limit": benchmark_limit,
              "deterministic": deterministic}
    before = {name: getattr(module, name) for name in values}
    try:
        for name, value in values.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


sys.modules[__name__].__class__ = _Module
