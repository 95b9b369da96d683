"""Files of code for other processes: what others can have written, and what is damaged, is not read."""
from __future__ import annotations

import os
import pathlib

import pytest
from lucid_kernels import trusted_files
from lucid_kernels.trusted_files import UntrustedError

NAME, KEY, CONTENTS = "kernel", b"versions", bytes(range(100))


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> str:
    """With one file in it."""
    made = trusted_files.make(str(tmp_path / "above" / "folder"))
    trusted_files.write(made, NAME, KEY, CONTENTS)
    return made


def read(folder: str, key: bytes = KEY) -> bytes | None:
    contents = trusted_files.read(folder, NAME, key)
    return None if contents is None else bytes(contents)


def test_what_is_written_is_read(folder: str) -> None:
    assert read(folder) == CONTENTS
    trusted_files.write(folder, NAME, KEY, b"")
    assert read(folder) == b""
    assert os.listdir(folder) == [NAME]


def test_what_depends_on_something_else_is_missing(folder: str) -> None:
    assert read(folder, b"other versions") is None
    assert trusted_files.read(folder, "another", KEY) is None
    assert trusted_files.read(folder + "/none", NAME, KEY) is None


def test_any_flipped_bit_is_noticed(folder: str) -> None:
    path = pathlib.Path(folder, NAME)
    data = path.read_bytes()
    for place in range(len(data)):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1:])
        assert read(folder) is None
    for end in range(len(data)):
        path.write_bytes(data[:end])
        assert read(folder) is None
    path.write_bytes(data + b"0")
    assert read(folder) is None
    path.write_bytes(data)
    assert read(folder) == CONTENTS


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757, 0o1777])
def test_a_folder_that_others_can_write(folder: str, mode: int) -> None:
    os.chmod(folder, mode)
    for use in (lambda: read(folder), lambda: trusted_files.make(folder), lambda: trusted_files.write(folder, NAME, KEY, b"")):
        with pytest.raises(UntrustedError, match=rf"others can write .*folder \(its mode is {mode:03o}\)"):
            use()


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_can_write(folder: str, mode: int) -> None:
    os.chmod(os.path.join(folder, NAME), mode)
    with pytest.raises(UntrustedError, match="others can write .*kernel"):
        read(folder)


def test_links(folder: str, tmp_path: pathlib.Path) -> None:
    """Not to the folder nor the file; above the folder those of this user or root, such as that of a cache on another disk."""
    link = tmp_path / "link"
    link.symlink_to(folder)
    for use in (lambda: read(str(link)), lambda: trusted_files.make(str(link))):
        with pytest.raises(UntrustedError, match="link is a symbolic link"):
            use()
    os.rename(os.path.join(folder, NAME), tmp_path / "file")
    os.symlink(tmp_path / "file", os.path.join(folder, NAME))
    with pytest.raises(UntrustedError, match="kernel is a symbolic link"):
        read(folder)
    above = tmp_path / "to above"
    above.symlink_to(os.path.dirname(folder))
    assert trusted_files.make(str(above / "folder")) == folder


def test_what_is_no_file(folder: str) -> None:
    """A FIFO is not waited for."""
    os.unlink(os.path.join(folder, NAME))
    os.mkfifo(os.path.join(folder, NAME), 0o600)
    assert read(folder) is None


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if others could enter every folder above the temporary ones."""
    monkeypatch.setattr(trusted_files, "_OTHERS_ENTER", -1)


def test_what_can_be_exchanged_from_above(folder: str, monkeypatch: pytest.MonkeyPatch, entered: None) -> None:
    above = os.path.dirname(folder)
    for mode in (0o777, 0o775):
        os.chmod(above, mode)
        with pytest.raises(UntrustedError, match="others can write .*above"):
            trusted_files.make(folder)
        assert trusted_files.make(folder, above=False) == folder
    os.chmod(above, 0o1777)  # as /tmp: others cannot rename what is not theirs
    assert trusted_files.make(folder) == folder
    os.chmod(above, 0o777)
    os.chmod(os.path.dirname(above), 0o700)
    monkeypatch.undo()
    assert trusted_files.make(folder) == folder  # others do not come that far


def test_nothing_is_made_where_others_can_exchange_it(tmp_path: pathlib.Path, entered: None) -> None:
    os.chmod(tmp_path, 0o777)
    with pytest.raises(UntrustedError):
        trusted_files.make(str(tmp_path / "a" / "b"))
    assert not (tmp_path / "a").exists()


def test_the_umask_does_not_open_what_is_made(tmp_path: pathlib.Path) -> None:
    before = os.umask(0)
    try:
        folder = trusted_files.make(str(tmp_path / "a" / "b"))
        trusted_files.write(folder, NAME, KEY, CONTENTS)
    finally:
        os.umask(before)
    modes = [os.stat(path).st_mode & 0o777 for path in (tmp_path / "a", folder, os.path.join(folder, NAME))]
    assert modes == [0o755, 0o755, 0o644]


def _of_another(path: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """The user that `path` belongs to, who is now another one than that of this process; and root's own is not."""
    if os.geteuid() == 0:
        os.lchown(path, 12345, 12345)
        return 12345
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    return owner


@pytest.mark.parametrize("name", ["", NAME])
def test_what_belongs_to_another_user(folder: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = _of_another(os.path.join(folder, name), monkeypatch)
    with pytest.raises(UntrustedError, match=rf"belongs to another user \(uid {owner}\)"):
        read(folder)


def test_a_link_of_another_user(folder: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = tmp_path / "link"
    link.symlink_to(os.path.dirname(folder))
    _of_another(str(link), monkeypatch)
    with pytest.raises(UntrustedError, match="link belongs to another user" if os.geteuid() == 0 else "belongs to another user"):
        trusted_files.make(str(link / "folder"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make what belongs to root")
def test_what_belongs_to_root_serves_others(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a layer of a container image."""
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert read(folder) == CONTENTS
