"""`torch.hub`: files of this machine; nothing is downloaded."""
from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlparse

from lucid.hub import HASH_REGEX

__all__ = ["HASH_REGEX", "_get_torch_home", "tqdm", "urlparse"]  # noqa: F822 - imported when it is asked for


def _get_torch_home() -> str:
    """PyTorch's folder of files: ``$TORCH_HOME``, else ``$XDG_CACHE_HOME/torch``, else ``~/.cache/torch``."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return os.path.expanduser(os.environ.get("TORCH_HOME") or os.path.join(cache, "torch"))


def __getattr__(name: str) -> Any:
    if name == "tqdm":
        try:
            from tqdm import tqdm
        except ImportError as error:
            raise AttributeError("torch.hub.tqdm needs the package tqdm") from error
        return tqdm
    raise AttributeError(name)
