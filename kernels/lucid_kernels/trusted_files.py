"""Files of compiled code that a process leaves for others: used only if nobody but this user or root can have written them.

Loading such a file runs it. So the folder and the file belong to this user or root, others cannot write them, neither is a
symbolic link, and what is read is what has been looked at: the folder is opened once, and the file in it. Each ends in a checksum
of its contents and of what they depend on: one that is damaged, or of another version, counts as missing.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import pathlib
import secrets
import stat
import warnings
from collections.abc import Iterator

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_ENTER = stat.S_IXGRP | stat.S_IXOTH
_CHECKSUM_BYTES = 32


class UntrustedError(PermissionError):
    """Others can have written it."""


def _check_owner(path: object, status: os.stat_result) -> None:
    if status.st_uid not in (0, os.geteuid()):
        raise UntrustedError(f"{path} belongs to another user (uid {status.st_uid})")


def _check(path: object, status: os.stat_result) -> None:
    _check_owner(path, status)
    if status.st_mode & _OTHERS_WRITE:
        raise UntrustedError(f"others can write {path} (its mode is {stat.S_IMODE(status.st_mode):03o})")


def _check_above(folder: str) -> None:
    """Raise UntrustedError if others can put something else in the place of `folder`, or of a folder above it."""
    with contextlib.suppress(FileNotFoundError):  # from there on, nothing exists yet
        for above in reversed(pathlib.Path(folder).parents):
            if above.is_symlink():
                _check_owner(above, above.lstat())
    with contextlib.suppress(FileNotFoundError):
        for above in reversed(pathlib.Path(os.path.realpath(folder)).parents):
            status = above.stat()
            if status.st_mode & stat.S_ISVTX:  # as in /tmp, where nobody can rename what is another's
                _check_owner(above, status)
            else:
                _check(above, status)
            if not status.st_mode & _OTHERS_ENTER:
                return


def make(folder: str, mode: int = 0o755, above: bool = True) -> str:
    """Make `folder` unless it is there; its path without links above it. With `above`, others cannot exchange the folders there.

    Raises UntrustedError, or OSError if it cannot be made.
    """
    if above:
        _check_above(folder)
    for path in (*reversed(pathlib.Path(folder).parents), pathlib.Path(folder)):
        if not os.path.lexists(path):
            path.mkdir(mode, exist_ok=True)  # another process may have made it
    if above:
        _check_above(folder)  # those that were missing
    folder = os.path.join(os.path.realpath(os.path.dirname(folder)), os.path.basename(folder))
    with _opened(folder):
        return folder


@contextlib.contextmanager
def _opened(folder: str) -> Iterator[int]:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        if os.path.islink(folder):
            raise UntrustedError(f"{folder} is a symbolic link") from None
        raise
    try:
        _check(folder, os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


#: Folders that a warning has named.
warned: set[str] = set()


def warn_once(folder: str, message: str) -> None:
    """Warn of `folder`, unless that has been done."""
    if folder not in warned:
        warned.add(folder)
        warnings.warn(message, RuntimeWarning, stacklevel=4)


def _checksum(key: bytes, contents: bytes | memoryview) -> bytes:
    digest = hashlib.sha256(key)
    digest.update(contents)
    return digest.digest()


def read(folder: str, name: str, key: bytes) -> memoryview | None:
    """The contents that `write` has put into the file with the same `key`; None if there is no such file, or it is damaged.

    Raises UntrustedError, or OSError if it cannot be read.
    """
    path = os.path.join(folder, name)
    try:
        with _opened(folder) as parent:
            # Not waiting for a writer, should it be a FIFO.
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UntrustedError(f"{path} is a symbolic link") from None
        raise
    with open(descriptor, "rb", buffering=0) as file:
        status = os.fstat(descriptor)
        _check(path, status)
        if not stat.S_ISREG(status.st_mode):
            return None
        data = memoryview(file.readall())
    contents, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    return contents if _checksum(key, contents) == checksum else None


def write(folder: str, name: str, key: bytes, contents: bytes) -> None:
    """Put `contents` into a file in one step: another process never reads half of it. Raises UntrustedError, OSError."""
    with _opened(folder) as parent:
        unfinished = f"{name}.{secrets.token_hex(8)}.tmp"
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=parent)
        try:
            with open(descriptor, "wb") as file:
                file.write(contents)
                file.write(_checksum(key, contents))
            os.replace(unfinished, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(unfinished, dir_fd=parent)
            raise
