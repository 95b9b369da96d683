"""Where compiled kernels are kept between processes.

They are looked for, in this order, in the folder that the variable LUCID_CACHE_DIR names, that of NUMBA_CACHE_DIR, `__pycache__`
beside the package, and the user's cache folder (`~/.cache/lucid` on Linux). New ones go to the first that can be written; one
that can only be read, such as a layer of a container image, has what `python -m lucid.warmup` has put there. Without any,
kernels are compiled in each process, and one warning says so. Beside the package, not inside it: an uninstaller leaves
what it has not installed, and a folder with the package's name but without its files would hide a later editable install.

A folder or file that another user owns or can write is not used, with a warning: to load a kernel is to run it (`trusted_files`).
Each compiled version is a file, whose name has a digest of the types, the CPU and its features. Its checksum covers the versions
and the sources that it depends on (`sources.py`). Files are written under another name and renamed, so several processes can
share a folder.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from lucid_kernels import trusted_files

from . import object_code
from .sources import outermost_package, stamp

VARIABLE = "LUCID_CACHE_DIR"


def _candidates(sources: str) -> Iterator[tuple[str, str, str]]:
    """(what names it, folder, the name of the one in it that is used) for the files of a package or folder, best first."""
    name = "_".join((os.path.basename(sources), hashlib.sha256(sources.encode()).hexdigest()[:12]))
    top, package = outermost_package(sources)
    for variable in (VARIABLE, "NUMBA_CACHE_DIR"):
        if os.environ.get(variable):
            yield variable, os.path.abspath(os.environ[variable]), name
    yield "", os.path.join(top, "__pycache__", package).rstrip(os.sep), ""
    own = AppDirs("lucid", appauthor=False).user_cache_dir
    if os.path.isabs(own):  # without a home folder it begins with ~
        yield "", own, name


@functools.cache
def folders(sources: str) -> tuple[tuple[str, ...], str | None]:
    """(folders to read, the folder to write or None) for the functions of a package or folder; warns where it must."""
    readable: list[str] = []
    tried: list[str] = []
    for variable, asked_for, name in _candidates(sources):
        folder = os.path.join(asked_for, name) if name else asked_for
        tried.append(folder)
        try:
            if os.path.islink(asked_for):
                raise trusted_files.UntrustedError(f"{asked_for} is a symbolic link")
            # Whoever can exchange the folders above `__pycache__` can exchange the sources as well.
            usable = trusted_files.make(folder, above=bool(name))
        except trusted_files.UntrustedError as error:
            _warn_refused(folder, error)
            continue
        except OSError:
            if variable == VARIABLE:
                warnings.warn(f"{VARIABLE}={os.environ[VARIABLE]} cannot be written; compiled kernels are kept elsewhere",
                              RuntimeWarning, stacklevel=2)  # fmt: skip
            continue
        readable.append(usable)
        if os.access(usable, os.W_OK):
            return tuple(readable), usable
    _warn_once(tuple(tried))
    return tuple(readable), None


@functools.cache
def _warn_once(tried: tuple[str, ...]) -> None:
    warnings.warn("compiled kernels are not kept for the next process, none of these folders can be written: "
                  f"{', '.join(tried)}; set {VARIABLE} to one that can", RuntimeWarning, stacklevel=3)  # fmt: skip


def _warn_refused(folder: str, error: trusted_files.UntrustedError) -> None:
    advice = f"remove it, or set {VARIABLE} to a folder of your own"
    trusted_files.warn_once(folder, f"compiled kernels in {folder} are not used: {error}; {advice}")


def folder() -> str | None:
    """Where the kernels of this package are written; None where they cannot be kept."""
    return folders(_root(os.path.abspath(__file__)))[1]


def _root(file: str) -> str:
    """The outermost package that `file` belongs to, whose kernels lie together, or its folder."""
    return os.path.join(*outermost_package(os.path.dirname(file))).rstrip(os.sep)


class KernelCache:
    """The compiled versions of one kernel on disk. The folders are looked at with the first one, not at import."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._file = os.path.abspath(function.__code__.co_filename)
        stamp(self._file)  # now: the file may be edited before the first version is kept

    @functools.cached_property
    def _folders(self) -> tuple[tuple[str, ...], str | None]:
        return folders(_root(self._file))

    @property
    def cache_path(self) -> str | None:
        """The folder that is written."""
        return self._folders[1]

    def _file_of(self, signature: Any, codegen: Any) -> tuple[str, bytes] | None:
        """(name, key) of the file with the version for `signature`; None if another process has no such types."""
        code, cells = self._function.__code__, self._function.__closure__
        closure = dumps([cell.cell_contents for cell in cells]) if cells else b""
        types = repr(signature)
        if " at 0x" in types:  # that of an object of this process
            return None
        digest = hashlib.sha256(repr((types, codegen.magic_tuple(), code.co_code, closure)).encode()).digest()
        module = os.path.splitext(os.path.relpath(self._file, _root(self._file)))[0].replace(os.sep, ".")
        name = self._function.__qualname__.replace("<", "").replace(">", "")
        tag = sys.implementation.cache_tag
        return f"{module}.{name}-{code.co_firstlineno}.{tag}.{digest.hex()[:20]}.kernel", stamp(self._file) + digest

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled version for `signature`, or None."""
        found = self._file_of(signature, target_context.codegen())
        if found is None:
            return None
        for folder in self._folders[0]:
            try:
                contents = trusted_files.read(folder, *found)
                if contents is not None:
                    return object_code.load(target_context, pickle.loads(contents))
            except trusted_files.UntrustedError as error:
                _warn_refused(folder, error)
            except Exception:  # unreadable, or made of objects that this process lacks, for which pickle has errors of many kinds
                pass
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a compiled version for other processes. A full disk is no error."""
        found = self._file_of(signature, compiled.codegen)
        if found is None or self._folders[1] is None or not self._can_be_kept(compiled):
            return
        try:
            trusted_files.write(self._folders[1], *found, dumps(object_code.store(compiled)))
        except OSError:
            pass

    def _can_be_kept(self, compiled: Any) -> bool:
        """Whether it has no addresses of this process; warns otherwise."""
        if compiled.library.has_dynamic_globals or compiled.lifted:
            warnings.warn(f"{self._function.__qualname__} is compiled in each process: it uses ctypes pointers, large global "
                          "arrays or lifted loops", RuntimeWarning, stacklevel=2)  # fmt: skip
            return False
        return True
