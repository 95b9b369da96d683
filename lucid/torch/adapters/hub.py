"""`torch.hub`: files of this machine; nothing is downloaded."""
from __future__ import annotations

import os
import re
from typing import Any, NoReturn
from urllib.parse import urlparse

__all__ = ["HASH_REGEX", "_get_torch_home", "download_url_to_file", "load", "tqdm", "urlparse"]  # noqa: F822 - imported when it is asked for

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")


def _get_torch_home() -> str:
    """PyTorch's folder of files: ``$TORCH_HOME``, else ``$XDG_CACHE_HOME/torch``, else ``~/.cache/torch``."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return os.path.expanduser(os.environ.get("TORCH_HOME") or os.path.join(cache, "torch"))


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> NoReturn:
    """Raises OSError: lucid downloads nothing."""
    raise OSError(f"lucid downloads nothing: put {url} at {dst}")


def load(repo_or_dir: Any, model: str, *arguments: Any, **keywords: Any) -> NoReturn:
    """Raises OSError: lucid downloads nothing, and runs no code of repositories."""
    raise OSError(f"lucid downloads nothing: get the code of {repo_or_dir}, and call {model} in it")


def __getattr__(name: str) -> Any:
    if name == "tqdm":
        try:
            from tqdm import tqdm
        except ImportError as error:
            raise AttributeError("torch.hub.tqdm needs the package tqdm") from error
        return tqdm
    raise AttributeError(name)
