"""Where the simulator keeps what it has built: never in, nor from, what others can write; and what is damaged is built anew."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import pytest
from lucid_kernels import simulator, trusted_files
from lucid_kernels.simulator import cache
from lucid_kernels.simulator.module import Module

NAME = "folder/library.so"


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The chosen folder, which does not exist yet; folders of this process alone lie beside it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(cache, "_own", {})
    trusted_files.warned.clear()
    cache._own_folder.cache_clear()
    monkeypatch.setenv("LUCID_SIMULATOR_CACHE", str(tmp_path / "chosen" / "folder"))
    return tmp_path / "chosen" / "folder"


def build(path: pathlib.Path) -> None:
    path.write_bytes(b"built")
    BUILT.append(path.name)


BUILT: list[str] = []


def uses(expected: pathlib.Path | None, count: int) -> pathlib.Path:
    """The path that is found, in `expected` if it is given, after `count` builds."""
    BUILT.clear()
    for _ in range(2):
        path = cache.built(NAME, build)
        assert path.read_bytes().startswith(b"built")
    assert BUILT == ["library.so"] * count
    if expected is not None:
        assert path == expected / NAME
    return path


def test_it_is_built_once(folder: pathlib.Path) -> None:
    uses(folder, 1)
    uses(folder, 0)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in folder.rglob("*")] == ["folder", "library.so"]


def test_without_a_choice_it_is_a_folder_of_this_user(folder: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named by number: a user need not have a name."""
    monkeypatch.delenv("LUCID_SIMULATOR_CACHE")
    uses(tmp_path / f"lucid-simulator-{os.geteuid()}", 1)


@pytest.mark.parametrize("place", range(5))
def test_a_flipped_bit_is_noticed(folder: pathlib.Path, place: int) -> None:
    path = uses(folder, 1)
    data = bytearray(path.read_bytes())
    data[place * (len(data) - 1) // 4] ^= 1
    path.write_bytes(data)
    uses(folder, 1)


def test_a_flipped_bit_of_a_real_library(folder: pathlib.Path) -> None:
    if not simulator.available():
        pytest.skip("g++ or the CUDA headers are not installed")
    code = 'extern "C" __global__ void k(int* x) { x[0] = 5; }'
    path = Module(code).path
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.unlink()  # it is loaded
    path.write_bytes(data)
    x = np.zeros(1, np.int32)
    module = Module(code)
    module.get_function("k")((1,), (1,), (x,))
    assert x[0] == 5
    assert module.path == path and path.read_bytes() != data


@pytest.mark.parametrize("fault", ["folder", "inner", "file", "link", "above"])
def test_what_others_can_write_is_not_used(folder: pathlib.Path, tmp_path: pathlib.Path, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    uses(folder, 1)
    monkeypatch.setattr(trusted_files, "_OTHERS_ENTER", -1)
    if fault == "link":
        folder.rename(tmp_path / "moved")
        folder.symlink_to(tmp_path / "moved")
    else:
        path = {"folder": folder, "inner": folder / "folder", "file": folder / NAME, "above": folder.parent}[fault]
        path.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="symbolic link" if fault == "link" else "others can write") as caught:
        found = uses(None, 1)
    assert len(caught) == 1
    if fault == "file":
        assert found == folder / NAME and found.stat().st_mode & 0o777 == 0o644  # it has been replaced
    else:
        assert found.parents[2] == tmp_path and found.parents[1].stat().st_mode & 0o777 == 0o700


def test_a_folder_that_can_only_be_read_serves(folder: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uses(folder, 1)

    def refuse(*arguments: object) -> None:
        raise OSError("read-only")

    monkeypatch.setattr(trusted_files, "write", refuse)
    uses(folder, 0)
    BUILT.clear()
    assert cache.built("another.so", build).parents[1] == tmp_path == cache.built("another.so", build).parents[1]
    assert BUILT == ["another.so"]


def test_a_folder_that_cannot_be_made(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    folder.parent.write_text("a file")
    with pytest.warns(RuntimeWarning, match=r"are not kept in .*; set LUCID_SIMULATOR_CACHE"):
        assert uses(None, 1).parents[2] == tmp_path


CODE = """
import os, sys, warnings
warnings.simplefilter("ignore")
from lucid_kernels.simulator import cache
path = cache.built("a.so", lambda path: path.write_bytes(b""))
if os.fork() == 0:
    sys.exit()
os.wait()
print(path.exists(), path)
"""


def test_the_folder_of_a_process_is_removed_with_it(folder: pathlib.Path) -> None:
    folder.parent.write_text("a file")
    path = str(pathlib.Path(cache.__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", CODE], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    there, _, name = done.stdout.strip().partition(" ")
    assert there == "True" and name.endswith("a.so"), done.stderr
    assert not os.path.exists(os.path.dirname(name))
