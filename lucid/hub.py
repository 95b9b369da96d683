"""Weights of published models, from a folder of this machine. Nothing is downloaded."""
from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

__all__ = ["get_dir", "load_state_dict_from_url", "set_dir"]

_HASH = re.compile(r"-([a-f0-9]*)\.")
_chosen: str | None = None


def get_dir() -> str:
    """The folder of the files: what `set_dir` said, else ``$LUCID_HOME/hub``, else ``$XDG_CACHE_HOME/lucid/hub``, else
    ``~/.cache/lucid/hub``.
    """
    if _chosen is not None:
        return _chosen
    home = os.environ.get("LUCID_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "lucid"
    return str(Path(home).expanduser() / "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder of the files."""
    global _chosen
    _chosen = os.path.expanduser(d)


def load_state_dict_from_url(url: str, model_dir: str | os.PathLike[str] | None = None, map_location: Any = None,
                             progress: bool = True, check_hash: bool = False, file_name: str | None = None,
                             weights_only: bool = False) -> Any:
    """Load the file of `url`, by its name, from `model_dir`, by default the folder ``checkpoints`` of `get_dir`.

    With `check_hash` the name must hold the beginning of the file's SHA-256, as in ``resnet18-f37072fd.pth``. Raises
    FileNotFoundError, with the place for the file, where it is not there, and RuntimeError for another hash.
    """
    folder = Path(get_dir()) / "checkpoints" if model_dir is None else Path(model_dir)
    name = Path(urlparse(url).path).name if file_name is None else file_name
    path = folder / name
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there, and lucid downloads nothing: put the file of {url} there")
    if check_hash:
        found = _HASH.search(name)
        if found is None:
            raise RuntimeError(f"check_hash: the name {name} holds no hash, as in name-0123abcd.pth")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if not digest.startswith(found[1]):
            raise RuntimeError(f'invalid hash value (expected "{found[1]}", got "{digest[:max(len(found[1]), 8)]}"): {path}')
    from .serialization import load

    return load(path, map_location, weights_only=weights_only)
