"""Where compiled kernels are kept between processes.

They are looked for, in this order, in the folder that the variable LUCID_CACHE_DIR names, that of NUMBA_CACHE_DIR, `__pycache__`
beside the package, and the user's cache folder (`~/.cache/lucid` on Linux). New ones go to the first that can be written; one
that can only be read, such as a layer of a container image, serves what `python -m lucid.warmup` has put there. Without any,
kernels are compiled in each process anew, and one warning says so. Beside the package, not inside it: an uninstaller leaves
what it has not installed, and a folder with the package's name but without its files would hide a later editable install.

Numba finds an entry by signature, CPU and its features, and replaces entries whose stamp is another: here the versions and the
sources that a file imports from this package, since a kernel contains the functions that it calls. Files are written under
another name and renamed, so several processes can share a folder.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import llvmlite
import numba
from numba.core import caching
from numba.misc.appdirs import AppDirs

from . import _object_code

VARIABLE = "LUCID_CACHE_DIR"
_caching: Any = caching
# Numba 0.61 has the name with an underscore.
_Locator: Any = getattr(_caching, "InTreeCacheLocator", None) or _caching._InTreeCacheLocator


@functools.cache
def _versions() -> str:
    return f"{sys.version} {numba.__version__} {llvmlite.__version__}"


@functools.cache
def _source(file: str) -> tuple[bytes, tuple[str, ...]] | None:
    """The digest of a file, and the files of its folder that it imports; None if there is none.

    Kept, as most are imported by many: for the kernels of a small conv net 85 files were read and searched 1,500 times.
    """
    if not os.path.isfile(file):
        return None
    with open(file, "rb") as source:
        text = source.read()
    folder, names = os.path.dirname(file), list[str]()
    for module, listed in re.findall(r"^from \.(\w*) import (\([^)]*\)|.*)$", text.decode(), re.MULTILINE):
        names += [module] if module else re.findall(r"\w+", listed)
    return hashlib.sha256(text).digest(), tuple(os.path.join(folder, f"{name}.py") for name in names)


def _imported(path: str) -> dict[str, bytes]:
    """The digests of `path` and of the files of its folder that it imports, directly or not."""
    found, waiting = dict[str, bytes](), [path]
    while waiting:
        file = waiting.pop()
        source = None if file in found else _source(file)
        if source is not None:
            found[file], imports = source
            waiting += imports
    return found


@functools.cache
def stamp(path: str) -> str:
    """What the compiled kernels of the file `path` depend on: versions, its sources, and those of what compiles and keeps it."""
    compiler = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_compile.py")
    digest = hashlib.sha256(_versions().encode())
    for _, of_file in sorted((_imported(path) | _imported(compiler)).items()):
        digest.update(of_file)
    return digest.hexdigest()


def _beside(sources: str) -> str:
    """The folder in `__pycache__` beside the outermost package that the folder `sources` belongs to, or in `sources` itself."""
    names: list[str] = []
    while os.path.isfile(os.path.join(sources, "__init__.py")):
        sources, name = os.path.split(sources)
        names.insert(0, name)
    return os.path.join(sources, "__pycache__", ".".join(names)) if names else os.path.join(sources, "__pycache__")


def _candidates(sources: str) -> Iterator[tuple[str, str]]:
    """(who asks for it, folder) for functions of files in the folder `sources`, best first."""
    name = "_".join((os.path.basename(sources), hashlib.sha256(sources.encode()).hexdigest()[:12]))
    for variable in (VARIABLE, "NUMBA_CACHE_DIR"):
        if os.environ.get(variable):
            yield variable, os.path.join(os.path.abspath(os.environ[variable]), name)
    yield "", _beside(sources)
    own = AppDirs("lucid", appauthor=False).user_cache_dir
    if os.path.isabs(own):  # without a home folder it begins with ~
        yield "", os.path.join(own, name)


def _writable(folder: str) -> bool:
    try:
        os.makedirs(folder, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


@functools.cache
def folders(sources: str) -> tuple[tuple[str, ...], str | None]:
    """(folders to read, the folder to write or None) for functions of files in the folder `sources`; warns where it must."""
    readable: list[str] = []
    tried: list[str] = []
    for variable, folder in _candidates(sources):
        if _writable(folder):
            return (*readable, folder), folder
        tried.append(folder)
        if os.path.isdir(folder):
            readable.append(folder)
        elif variable == VARIABLE:
            warnings.warn(f"{VARIABLE}={os.environ[VARIABLE]} cannot be written; compiled kernels are kept elsewhere",
                          RuntimeWarning, stacklevel=2)  # fmt: skip
    _warn_once(tuple(tried))
    return tuple(readable), None


@functools.cache
def _warn_once(tried: tuple[str, ...]) -> None:
    warnings.warn("compiled kernels are not kept for the next process, none of these folders can be written: "
                  f"{', '.join(tried)}; set {VARIABLE} to one that can", RuntimeWarning, stacklevel=3)  # fmt: skip


def folder() -> str | None:
    """Where the kernels of this package are written; None where they cannot be kept."""
    return folders(os.path.dirname(os.path.abspath(__file__)))[1]


def _function_cache(function: Callable[..., Any], folder: str) -> Any:
    """Numba's cache of one function in `folder`."""

    class Locator(_Locator):  # type: ignore[misc]
        def __init__(self, function: Callable[..., Any], file: str) -> None:
            super().__init__(function, file)
            self._cache_path = folder

        def ensure_cache_path(self) -> None:
            pass  # `folders` has looked

        def get_source_stamp(self) -> Any:
            return stamp(self._py_file)

    class Implementation(_caching.CompileResultCacheImpl):  # type: ignore[misc]
        _locator_classes: ClassVar[list[Any]] = [Locator]

        def reduce(self, compiled: Any) -> tuple[Any, ...]:
            return _object_code.store(compiled)

        def rebuild(self, target: Any, stored: tuple[Any, ...]) -> Any:
            return _object_code.load(target, stored)

    class Cache(_caching.FunctionCache):  # type: ignore[misc]
        _impl_class = Implementation

        def load_overload(self, signature: Any, target: Any) -> Any:
            return self._load_overload(signature, target)  # without what only the compiler needs

    return Cache(function)


class KernelCache:
    """The compiled versions of one kernel on disk. The folders are looked at with the first one, not at import."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._file = os.path.abspath(function.__code__.co_filename)
        stamp(self._file)  # now: the file may be edited before the first version is kept

    @functools.cached_property
    def _caches(self) -> tuple[list[Any], Any]:
        readable, writable = folders(os.path.dirname(self._file))
        caches = {folder: _function_cache(self._function, folder) for folder in readable}
        return list(caches.values()), caches[writable] if writable else None

    @property
    def cache_path(self) -> str | None:
        """The folder that is written."""
        return self._caches[1].cache_path if self._caches[1] else None

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled version for `signature`, or None."""
        for cache in self._caches[0]:
            try:
                found = cache.load_overload(signature, target_context)
            except OSError:  # unreadable
                continue
            except Exception:  # damaged, for which pickle has errors of many kinds
                self._forget(cache)
                continue
            if found is not None:
                return found
        return None

    def _forget(self, cache: Any) -> None:
        """Begin with an empty list of versions in `cache`, if that can be written: a damaged one cannot be added to."""
        if cache is self._caches[1]:
            try:
                cache.flush()
            except OSError:
                pass

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a compiled version for other processes. A full disk is no error."""
        if self._caches[1] is not None:
            try:
                self._caches[1].save_overload(signature, compiled)
            except OSError:
                pass
