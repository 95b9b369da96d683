"""Whether autocast is on, for which devices and with which dtypes: a context of its own in each thread and task."""
from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from .. import _dtypes

#: The kinds of devices that have autocast, and the dtypes that it may lower to there.
DEVICES: dict[str, tuple[np.dtype, ...]] = {
    "cpu": (_dtypes.bfloat16, _dtypes.float16),
    "gpu": (_dtypes.float16, _dtypes.bfloat16),
}
#: Kinds that PyTorch knows besides: there are no tensors on them here, so that autocast is off for them.
OTHERS = frozenset(("hpu", "ipu", "maia", "mps", "mtia", "xla", "xpu"))


class State(NamedTuple):
    """Immutable: `enter` and the setters put another one in its place."""

    cpu: bool = False
    gpu: bool = False
    cpu_dtype: np.dtype = _dtypes.bfloat16
    gpu_dtype: np.dtype = _dtypes.float16
    cache_enabled: bool = True
    nesting: int = 0


OFF = State()
state: ContextVar[State] = ContextVar("lucid_autocast", default=OFF)


class Casts(threading.local):
    """The lower-precision copies of leaves made in this thread, until the outermost autocast ends: see `_casts`."""

    def __init__(self) -> None:
        self.made: dict[Any, Any] = {}


casts = Casts()


def kind_of(name: Any) -> str:
    """'cpu' or 'gpu' for a kind of device, which PyTorch calls 'cuda'. Raises ValueError or RuntimeError for others."""
    if not isinstance(name, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(name)}`")
    kind = "gpu" if name == "cuda" else name
    if kind not in DEVICES:
        raise RuntimeError(f"User specified an unsupported autocast device_type '{name}'")
    return kind
