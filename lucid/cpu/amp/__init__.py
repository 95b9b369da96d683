"""Mixed precision by PyTorch's older names, `torch.cpu.amp`; `lucid.amp` has the present ones."""
from __future__ import annotations

import warnings
from typing import Any

from ... import _dtypes
from ... import amp as _amp

__all__ = ["GradScaler", "autocast"]


def _deprecated(name: str) -> None:
    warnings.warn(f"`lucid.cpu.amp.{name}(args...)` is deprecated. Please use `lucid.amp.{name}('cpu', args...)` instead.",
                  FutureWarning, stacklevel=3)


class autocast(_amp.autocast):
    """`lucid.amp.autocast` of the CPU, with a FutureWarning."""

    def __init__(self, enabled: bool = True, dtype: Any = _dtypes.bfloat16, cache_enabled: bool = True) -> None:
        _deprecated("autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(_amp.GradScaler):
    """`lucid.amp.GradScaler` of the CPU, with a FutureWarning."""

    def __init__(self, init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:
        _deprecated("GradScaler")
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
