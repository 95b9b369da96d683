"""`lucid.backends.cudnn`: how convolutions on a GPU compute, by the names of `torch.backends.cudnn`. lucid does not use cuDNN.

`allow_tf32`: whether convolutions of float32 may run on tensor cores as TF32, which keeps 10 of the 23 bits of each factor and
adds in float32. True by default, as in PyTorch. False is exact float32, at the speed of the other arithmetic units. CPUs are
always exact.
"""
from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator

from lucid_kernels import tf32


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


@contextlib.contextmanager
def flags(*, allow_tf32: bool = True) -> Iterator[None]:
    """Let `allow_tf32` have a value in this context."""
    module = sys.modules[__name__]
    before = tf32.convolutions
    module.allow_tf32 = allow_tf32  # type: ignore[attr-defined]
    try:
        yield
    finally:
        tf32.convolutions = before


sys.modules[__name__].__class__ = _Module
