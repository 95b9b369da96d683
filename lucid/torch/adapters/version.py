"""`torch.version`."""
from __future__ import annotations

from ..distribution import RELEASE, VERSION, TorchVersion

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

__version__ = TorchVersion(VERSION)
debug = False
git_version = RELEASE
cuda = hip = rocm = xpu = None
