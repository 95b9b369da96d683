"""Where built libraries are kept: the folder LUCID_SIMULATOR_CACHE, or one of this user in the temporary folder.

What is in it runs. So a folder or a file that others can write is not used, nor one that is damaged (`trusted_files`): a warning
says so, and what is missing is built in a folder of this process alone. From a folder that can only be read, what is in it is
used.
"""

from __future__ import annotations

import atexit
import functools
import os
import pathlib
import shutil
import tempfile
from collections.abc import Callable

from lucid_kernels import trusted_files

VARIABLE = "LUCID_SIMULATOR_CACHE"


@functools.cache
def _own_folder() -> pathlib.Path:
    """A folder of this process alone, removed when it ends."""
    folder, owner = tempfile.mkdtemp(prefix="lucid-simulator-"), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # and not a child that it has forked
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return pathlib.Path(folder)


def _shared_folder() -> str | None:
    """That of all processes of this user; None, with a warning, if it cannot be had or others can write it."""
    default = os.path.join(tempfile.gettempdir(), f"lucid-simulator-{os.geteuid()}")
    folder = os.path.abspath(os.environ.get(VARIABLE) or default)
    try:
        return trusted_files.make(folder, 0o700)
    except OSError as error:
        message = f"kernels built for the simulator are not kept in {folder}: {error}; set {VARIABLE} to a folder of your own"
        trusted_files.warn_once(folder, message)
        return None


_own: dict[str, pathlib.Path] = {}


def built(name: str, build: Callable[[pathlib.Path], None]) -> pathlib.Path:
    """The path of the file `name`, which says all that it depends on; where it is missing, ``build(path)`` makes it."""
    shared, key = _shared_folder(), name.encode()
    if shared is not None:
        path = pathlib.Path(shared, name)
        try:
            if trusted_files.read(str(path.parent), path.name, key) is not None:
                return path
        except OSError as error:
            trusted_files.warn_once(shared, f"kernels built for the simulator are built anew: {error}")
    if name in _own:
        return _own[name]
    with tempfile.TemporaryDirectory() as scratch:
        unfinished = pathlib.Path(scratch, os.path.basename(name))
        build(unfinished)
        contents = unfinished.read_bytes()
    if shared is not None:
        try:
            trusted_files.write(trusted_files.make(str(path.parent), 0o700), path.name, key, contents)
            return path
        except OSError:  # a layer of a container image, or a full disk
            pass
    path = _own[name] = _own_folder() / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(contents)
    return path
