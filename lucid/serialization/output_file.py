"""The file that `save` writes at a path: it takes the place of what is there, complete or not at all; what cannot be replaced,
such as a pipe, a device or a file that is a mount of its own, is written into.
"""
from __future__ import annotations

import contextlib
import errno
import itertools
import os
import pathlib
import shutil
import stat
from collections.abc import Iterator
from typing import IO

try:
    import fcntl
except ImportError:  # Windows, where a file that another process has open cannot be removed anyway
    fcntl = None  # type: ignore[assignment]

#: Errors of a directory or a mount that does not let a file in it be replaced: the file itself may be writable all the same.
_FIXED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV}


@contextlib.contextmanager
def written_at(path: pathlib.Path) -> Iterator[IO[bytes]]:
    """A binary file, open for writing, whose content is at `path` when this context ends without an error.

    After an error a regular file at `path` is as it was, unless the disk was full while it was written into.
    """
    target = _replaceable(path)
    if target is None:
        with open(path, "wb") as file:
            yield file
        return
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    try:
        # What replaces a private file is private from the beginning.
        temporary, descriptor = _temporary(target.parent, 0o666 if mode is None else 0o600)
    except OSError as error:
        if not _stays(target, error):
            raise
        descriptor = None
    if descriptor is None:
        import tempfile  # 5 ms of the time of `import lucid` otherwise

        with tempfile.TemporaryFile() as file:
            yield file
            _copy(file, target)
        return
    with os.fdopen(descriptor, "w+b") as file:
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if mode is not None:
                os.chmod(temporary, mode)
            try:
                if fcntl is None:
                    file.close()
                os.replace(temporary, target)
            except OSError as error:
                if file.closed or not _stays(target, error):
                    raise
                _copy(file, target)
                os.unlink(temporary)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    _sync_directory(target.parent)


def _replaceable(path: pathlib.Path) -> pathlib.Path | None:
    """The file, new or regular, that `path` leads to; None for anything else, and for the name of an open file.

    A symbolic link stays one. Those of /dev/stdout and /dev/fd lead to a file that others have open: they would not see another
    one in its place.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
    except FileNotFoundError:
        pass
    while True:
        folder, name = os.path.split(path)
        folder = os.path.realpath(folder)
        if folder == "/dev/fd" or folder.startswith("/proc/"):
            return None
        path = pathlib.Path(folder, name)
        if not path.is_symlink():
            return path
        path = path.parent / os.readlink(path)


def _stays(target: pathlib.Path, error: OSError) -> bool:
    """Whether `error` says that `target` cannot be replaced, but it can be written into."""
    return error.errno in _FIXED and target.exists() and os.access(target, os.W_OK)


def _copy(file: IO[bytes], target: pathlib.Path) -> None:
    """Write the content of `file` into `target`."""
    file.seek(0)
    with open(target, "r+b") as written:
        shutil.copyfileobj(file, written, 1 << 20)
        written.truncate()
        written.flush()
        os.fsync(written.fileno())


def _temporary(directory: pathlib.Path, mode: int) -> tuple[pathlib.Path, int]:
    """A new file in `directory`: its path and descriptor. It is locked while it is open, so one that is not was left behind by a
    process that was killed, and is removed.
    """
    for number in itertools.count():
        path = _numbered(directory, number)
        _remove_abandoned(path)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        except FileExistsError:
            continue  # another save is writing it
        if _lock(descriptor) is not False and _is(path, descriptor):
            break
        os.close(descriptor)  # another save took it for abandoned before it was locked
    while _remove_abandoned(_numbered(directory, number + 1)):
        number += 1
    return path, descriptor


def _numbered(directory: pathlib.Path, number: int) -> pathlib.Path:
    return directory / f".lucid-{number}.tmp"


def _remove_abandoned(path: pathlib.Path) -> bool:
    """Remove a temporary file that no process is writing; whether there was one."""
    try:
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    try:
        abandoned = bool(_lock(descriptor)) and _is(path, descriptor)
        if abandoned:
            os.unlink(path)
        return abandoned
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Lock a file until it is closed: False if another process has done so, None where files cannot be locked."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is(path: pathlib.Path, descriptor: int) -> bool:
    """Whether an open file is still the one at `path`."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    return False


def _sync_directory(directory: pathlib.Path) -> None:
    """Make a rename last through a power cut, where directories can be opened (not on Windows)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
