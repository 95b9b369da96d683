"""What lucid is and stands on, by the names of torch.version: `lucid.version`."""
from __future__ import annotations

import importlib
from typing import Any

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]  # noqa: F822 - two are found when asked for

debug = False
git_version: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("lucid").__version__
    if name == "cuda":  # of the library that CuPy runs on; None without a GPU, as in a PyTorch for CPUs
        from .. import backends

        if not backends.available():
            return None
        from ..backends.gpu import driver

        major, minor = divmod(driver.runtime_version() // 10, 100)
        return f"{major}.{minor}"
    raise AttributeError(f"module 'lucid.version' has no attribute {name!r}", name=name)
