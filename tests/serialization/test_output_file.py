"""Where `lucid.save` writes: what is replaced, what is written into, and what killed processes leave behind."""
from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import lucid
from lucid.serialization import output_file as _output_file

Path = pathlib.Path
ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="POSIX files")
root = pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs the rights of root")


@pytest.fixture(params=["safetensors", "npz"])
def extension(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run(code: str, *arguments: object, stdout: Any = subprocess.PIPE) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "kernels")])}
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], env=environment, timeout=60, check=False,
                          stdout=stdout, stderr=subprocess.PIPE)


# ---- written into --------------------------------------------------------------------------------------------------
def test_fifo(tmp_path: Path, extension: str) -> None:
    fifo = tmp_path / f"pipe.{extension}"
    os.mkfifo(fifo)
    loaded: list[Any] = []
    reader = threading.Thread(target=lambda: loaded.append(lucid.load(fifo)))
    reader.start()
    lucid.save({"a": lucid.arange(50_000)}, fifo)
    reader.join(30)
    assert loaded[0]["a"].tolist() == list(range(50_000))
    assert stat.S_ISFIFO(fifo.stat().st_mode) and os.listdir(tmp_path) == [fifo.name]


def test_device(extension: str) -> None:
    lucid.save(lucid.ones(3), "/dev/null", format=extension)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no /dev/stdout")
def test_standard_output(tmp_path: Path) -> None:
    """Of a pipe, and of a file, which the shell has open: it gets the content, and no other file takes its place."""
    code = "import sys, lucid; lucid.save(lucid.ones(3), '/dev/stdout'); lucid.save(lucid.ones(3), sys.argv[1])"
    copy = tmp_path / "copy"
    found = run(code, copy)
    assert found.stdout == copy.read_bytes(), found.stderr
    with open(tmp_path / "out", "w+b") as output:
        inode = os.fstat(output.fileno()).st_ino
        assert run(code, copy, stdout=output).returncode == 0
        assert (tmp_path / "out").stat().st_ino == inode and (tmp_path / "out").read_bytes() == copy.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["copy", "out"]


def test_open_file_by_its_number(tmp_path: Path) -> None:
    with open(tmp_path / "m", "w+b") as file:
        lucid.save(lucid.ones(2), f"/dev/fd/{file.fileno()}")
        assert lucid.load(file).tolist() == [1, 1]


@contextlib.contextmanager
def mounted_over(source: Path, target: Path) -> Iterator[None]:
    if shutil.which("mount") is None or subprocess.run(["mount", "--bind", source, target], capture_output=True, check=False).returncode:
        pytest.skip("no right to mount")
    try:
        yield
    finally:
        subprocess.run(["umount", target], check=True)


@root
def test_file_that_is_a_mount(tmp_path: Path, extension: str) -> None:
    """As a container gets a single file: it cannot be replaced."""
    outside, inside = tmp_path / "outside", tmp_path / f"inside.{extension}"
    outside.write_bytes(b"x" * 10_000)
    inside.touch()
    with mounted_over(outside, inside):
        lucid.save({"a": lucid.ones(3)}, inside)
        assert lucid.load(inside)["a"].tolist() == [1, 1, 1]
    assert lucid.load(outside)["a"].tolist() == [1, 1, 1]
    assert sorted(os.listdir(tmp_path)) == [inside.name, "outside"]


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EPERM, errno.EXDEV])
def test_file_that_cannot_be_replaced(tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch, extension: str) -> None:
    path = tmp_path / f"m.{extension}"
    path.write_bytes(b"x" * 10_000)
    path.chmod(0o640)
    inode = path.stat().st_ino

    def refuse(*arguments: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "replace", refuse)
    lucid.save({"a": lucid.ones(3)}, path)
    assert lucid.load(path)["a"].tolist() == [1, 1, 1]
    assert path.stat().st_ino == inode and stat.S_IMODE(path.stat().st_mode) == 0o640
    with pytest.raises(OSError, match=os.strerror(number)):
        lucid.save({"a": lucid.ones(3)}, tmp_path / "new")
    assert os.listdir(tmp_path) == [path.name]


def test_refusals_leave_a_file_that_cannot_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is written into when all is known to be well only."""
    path = tmp_path / "m"
    lucid.save({"a": lucid.ones(3)}, path)
    before = path.read_bytes()

    def refuse(*arguments: Any) -> None:
        raise OSError(errno.EACCES, "read-only")

    monkeypatch.setattr(_output_file, "_temporary", refuse)
    tensor = lucid.ones(3)
    original = lucid.backends.to_host

    def written_meanwhile(array: Any) -> Any:
        tensor.add_(1)
        return original(array)

    monkeypatch.setattr(lucid.backends, "to_host", written_meanwhile)
    with pytest.raises(RuntimeError, match="written by another thread"):
        lucid.save({"a": tensor}, path)
    assert path.read_bytes() == before


@root
def test_writable_file_in_a_folder_that_is_not(extension: str) -> None:
    code = """
import os, sys, tempfile, lucid
path = sys.argv[1]
for name in (path, path + "y"):  # all modules are imported while this process may read them
    lucid.save(lucid.zeros(5), name)
    lucid.load(name)
os.unlink(path + "y")
os.setuid(54321)
lucid.save(lucid.ones(3), path)
print(lucid.load(path).tolist())
try:
    lucid.save(1, path + "x")
except PermissionError:
    print("refused")
"""
    with tempfile.TemporaryDirectory() as folder:  # that of pytest lies in a private one
        os.chmod(folder, 0o755)
        path = Path(folder, f"m.{extension}")
        path.touch()
        path.chmod(0o666)
        found = run(code, path)
        assert found.stdout.splitlines() == [b"[1.0, 1.0, 1.0]", b"refused"], found.stderr
        assert os.listdir(folder) == [path.name]


def test_links(tmp_path: Path) -> None:
    """Links of links, relative ones and one to a file that does not exist yet stay; a directory is refused."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "first").symlink_to("a/second")
    (tmp_path / "a" / "second").symlink_to("../b/target")
    for value in (1, 2):
        lucid.save(lucid.full((1,), value), tmp_path / "first")
        assert (tmp_path / "first").is_symlink() and (tmp_path / "a" / "second").is_symlink()
        assert lucid.load(tmp_path / "b" / "target").item() == value
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links|loop"):
        lucid.save(1, tmp_path / "loop")
    with pytest.raises(IsADirectoryError):
        lucid.save(1, tmp_path / "a")
    with pytest.raises(FileNotFoundError):
        lucid.save(1, tmp_path / "missing" / "m")
    name = "x" * 255
    lucid.save(1, tmp_path / name)
    assert lucid.load(tmp_path / name) == 1


# ---- permissions ---------------------------------------------------------------------------------------------------
def test_the_umask_is_not_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It belongs to the whole process: another thread would create files that everybody may write."""
    old = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", lambda mask: pytest.fail("umask was changed"))
            lucid.save(1, tmp_path / "new")
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
        (tmp_path / "new").chmod(0o604)
        lucid.save(2, tmp_path / "new")
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o604
    finally:
        os.umask(old)


def test_a_private_file_is_private_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m"
    path.touch()
    path.chmod(0o600)
    modes = []
    synchronize = os.fsync

    def look(descriptor: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None)
        synchronize(descriptor)

    monkeypatch.setattr(os, "fsync", look)
    lucid.save(1, path)
    assert modes == [0o600, None]


# ---- killed processes ----------------------------------------------------------------------------------------------
_KILLED = """
import os, signal, sys, lucid
from lucid.serialization import safetensors
safetensors.backends.to_host = lambda array: os.kill(os.getpid(), signal.SIGKILL)
for path in sys.argv[1:]:
    if os.fork() == 0:
        lucid.save(lucid.ones(1000), path)
    print(os.wait()[1])
"""


def test_temporary_files_of_killed_saves_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "m"
    lucid.save({"a": lucid.ones(1)}, path)
    assert run(_KILLED, path, path, tmp_path / "other").stdout.split() == [b"9"] * 3
    assert len(os.listdir(tmp_path)) == 2 and lucid.load(path)["a"].tolist() == [1]
    lucid.save(lucid.zeros(1), path)
    assert os.listdir(tmp_path) == ["m"] and lucid.load(path).tolist() == [0]


def test_what_several_saves_at_once_left_behind(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f".lucid-{number}.tmp").write_bytes(b"half")
    lucid.save(1, tmp_path / "m")
    assert os.listdir(tmp_path) == ["m"]


def test_saves_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Of several threads into one folder, and into one file, while other saves look for what was left behind."""
    errors: list[BaseException] = []
    end = time.monotonic() + 0.5

    def work(number: int) -> None:
        try:
            while time.monotonic() < end and not errors:
                for path in (tmp_path / str(number), tmp_path / "shared"):
                    lucid.save(lucid.full((1000,), number), path)
                assert lucid.load(tmp_path / str(number)).unique().tolist() == [number]
                assert len(lucid.load(tmp_path / "shared").unique()) == 1
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert sorted(os.listdir(tmp_path)) == [*map(str, range(6)), "shared"]


def test_names_of_temporary_files_are_no_trap(tmp_path: Path) -> None:
    """Others who may write to the folder can have put links there: what they lead to stays."""
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / ".lucid-0.tmp").symlink_to(precious)
    os.link(precious, tmp_path / ".lucid-1.tmp")
    os.mkfifo(tmp_path / ".lucid-2.tmp")
    (tmp_path / ".lucid-3.tmp").mkdir()
    lucid.save(1, tmp_path / "m")
    assert lucid.load(tmp_path / "m") == 1 and precious.read_text() == "precious"


def test_where_files_cannot_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(_output_file.fcntl, "flock", refuse)
    (tmp_path / ".lucid-0.tmp").write_text("of another process, for all that is known")
    lucid.save(1, tmp_path / "m")
    assert lucid.load(tmp_path / "m") == 1 and sorted(os.listdir(tmp_path)) == [".lucid-0.tmp", "m"]
