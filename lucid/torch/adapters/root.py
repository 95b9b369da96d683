"""`torch` itself."""
from __future__ import annotations

from typing import Any

import ml_dtypes

import lucid

from ..distribution import VERSION, TorchVersion
from ..dtypes import (
    dtype,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    get_default_dtype,
    promote_types,
    result_type,
)

__all__ = ["__file__", "__version__", "dtype", "finfo", "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype",
           "get_default_dtype", "promote_types", "result_type"]

__file__ = lucid.__file__  # programs leave out the frames of the folder that it is in
__version__ = TorchVersion(VERSION)


class finfo(lucid.finfo):
    """The limits of a floating-point dtype, also of those with 8 bits, which lucid has no tensors of."""

    def __init__(self, type: Any = None) -> None:
        if not (isinstance(type, dtype) and type.name.startswith("float8")):
            super().__init__(type)
            return
        limits: Any = ml_dtypes.finfo
        found = limits(type.dtype)
        self.bits, self.eps, self.max, self.min = int(found.bits), float(found.eps), float(found.max), float(found.min)
        self.tiny = self.smallest_normal = float(found.smallest_normal)
        self.resolution, self.dtype = 10.0 ** -int(found.precision), type.name


def __getattr__(name: str) -> Any:
    if name == "_autocast":
        from lucid.amp import autocast

        return autocast
    if name == "_shape_as_tensor":
        return lucid._shape_as_tensor
    if name == "_torch":
        import torch  # type: ignore[import-not-found, unused-ignore]

        return torch
    raise AttributeError(name)
