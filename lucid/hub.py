"""Weights of published models and the code of models, from folders of this machine. Nothing is downloaded.

>>> import os
>>> os.path.basename(lucid.hub.get_dir())
'hub'
"""
from __future__ import annotations

import builtins
import hashlib
import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlparse

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_chosen: str | None = None


def get_dir() -> str:
    """The folder of the files: what `set_dir` said, else ``$LUCID_HOME/hub``, else ``$XDG_CACHE_HOME/lucid/hub``, else
    ``~/.cache/lucid/hub``.

    >>> import os
    >>> os.path.basename(lucid.hub.get_dir())
    'hub'
    """
    return os.path.join(_get_torch_home(), "hub") if _chosen is None else _chosen


def _get_torch_home() -> str:
    """The folder above it, by the name that programs know from PyTorch."""
    home = os.environ.get("LUCID_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "lucid"
    return str(Path(home).expanduser())


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the folder of the files.

    >>> before = lucid.hub.get_dir()
    >>> lucid.hub.set_dir("models")
    >>> lucid.hub.get_dir()
    'models'
    >>> lucid.hub.set_dir(before)
    """
    global _chosen
    _chosen = os.path.expanduser(d)


def load_state_dict_from_url(url: str, model_dir: str | os.PathLike[str] | None = None, map_location: Any = None,
                             progress: bool = True, check_hash: bool = False, file_name: str | None = None,
                             weights_only: bool = False) -> Any:
    """Load the file of `url`, by its name, from `model_dir`, by default the folder ``checkpoints`` of `get_dir`.

    With `check_hash` the name must hold the beginning of the file's SHA-256, as in ``resnet18-f37072fd.pth``. Raises
    FileNotFoundError, with the place for the file, where it is not there, and RuntimeError for another hash.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:  # the file has been put there beforehand
    ...     lucid.save({"w": lucid.ones(2)}, os.path.join(folder, "model.pth"))
    ...     print(lucid.hub.load_state_dict_from_url("https://example.org/model.pth", folder))
    {'w': Tensor([1.0, 1.0], requires_grad=False)}
    """
    folder = Path(get_dir()) / "checkpoints" if model_dir is None else Path(model_dir)
    name = Path(urlparse(url).path).name if file_name is None else file_name
    path = folder / name
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there, and lucid downloads nothing: put the file of {url} there")
    if check_hash:
        found = HASH_REGEX.search(name)
        if found is None:
            raise RuntimeError(f"check_hash: the name {name} holds no hash, as in name-0123abcd.pth")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if not digest.startswith(found[1]):
            raise RuntimeError(f'invalid hash value (expected "{found[1]}", got "{digest[:max(len(found[1]), 8)]}"): {path}')
    from .serialization import load

    return load(path, map_location, weights_only=weights_only)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> NoReturn:
    """Raises OSError: nothing is downloaded.

    >>> lucid.hub.download_url_to_file("https://example.org/model.pth", "model.pth")
    Traceback (most recent call last):
    OSError: lucid downloads nothing: put https://example.org/model.pth at model.pth
    """
    raise OSError(f"lucid downloads nothing: put {url} at {dst}")


def _entries(repo_or_dir: str | os.PathLike[str], source: str) -> dict[str, Any]:
    """The functions of the file hubconf.py in a folder, which is run. Raises OSError for a repository, RuntimeError where a
    package that it needs is missing.
    """
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise OSError(f"lucid downloads nothing: get the code of {repo_or_dir}, and load it from its folder with source='local'")
    folder = os.path.abspath(repo_or_dir)
    spec = importlib.util.spec_from_file_location("hubconf", os.path.join(folder, "hubconf.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    missing = [name for name in getattr(module, "dependencies", ()) if importlib.util.find_spec(name) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    return {name: value for name, value in vars(module).items() if callable(value)}


def _entry(repo_or_dir: str | os.PathLike[str], model: str, source: str) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    found = _entries(repo_or_dir, source).get(model)
    if found is None:
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def load(repo_or_dir: str | os.PathLike[str], model: str, *args: Any, source: str = "github", trust_repo: Any = "check",
         force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: Any) -> Any:
    """What the function `model` of the file hubconf.py in a folder returns for the arguments, with ``source="local"``: that file
    is run. Raises OSError for a repository, of which nothing is downloaded.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "hubconf.py").write_text("def double(x): return 2 * x")
    ...     print(lucid.hub.load(folder, "double", 3, source="local"))
    6
    """
    return _entry(repo_or_dir, model, source)(*args, **kwargs)


def help(github: str | os.PathLike[str], model: str, force_reload: bool = False, skip_validation: bool = False,
         trust_repo: Any = "check", *, source: str = "github") -> str | None:
    """The docstring of a function of `load`.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "hubconf.py").write_text("def double(x):\\n    'Twice.'")
    ...     print(lucid.hub.help(folder, "double", source="local"))
    Twice.
    """
    text: str | None = _entry(github, model, source).__doc__
    return text


def list(github: str | os.PathLike[str], force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check",
         verbose: bool = True, *, source: str = "github") -> builtins.list[str]:
    """The names of the functions for `load`.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "hubconf.py").write_text("def double(x): return 2 * x")
    ...     print(lucid.hub.list(folder, source="local"))
    ['double']
    """
    return [name for name in _entries(github, source) if not name.startswith("_")]
