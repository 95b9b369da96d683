"""Arrays of other libraries, without a copy.

>>> lucid.utils.dlpack.from_dlpack(np.arange(3.0))
Tensor([0.0, 1.0, 2.0], dtype=float64, requires_grad=False)
"""
from __future__ import annotations

import enum
from typing import Any

from ..ops.creation.creation import from_dlpack
from ..tensor import Tensor

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(enum.IntEnum):
    """The numbers of kinds of devices in DLPack.

    >>> lucid.utils.dlpack.DLDeviceType.kDLCPU
    <DLDeviceType.kDLCPU: 1>
    """

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule that one library may take the memory of `tensor` from.

    >>> lucid.from_dlpack(lucid.utils.dlpack.to_dlpack(lucid.tensor([1.0, 2.0])))
    Tensor([1.0, 2.0], requires_grad=False)
    """
    return tensor.__dlpack__()
