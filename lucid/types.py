"""Names of types for annotations, as in `torch.types`. Not imported with lucid."""
from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._layout import Layout
from .backends import Device
from .tensor import Size, Tensor

__all__ = ["Device", "DeviceLikeType", "FileLike", "Number", "Storage"]

Number = builtins.int | builtins.float | builtins.bool
_int, _float, _bool, _complex = builtins.int, builtins.float, builtins.bool, builtins.complex
_dtype, _layout, _device = np.dtype, Layout, Device
_size = Size | list[builtins.int] | tuple[builtins.int, ...]
_symsize = _size
_dispatchkey = builtins.str
_TensorOrTensors = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge = _TensorOrTensors
DeviceLikeType = builtins.str | Device | builtins.int
FileLike = Any
Storage = Any
