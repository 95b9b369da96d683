"""Where compiled kernels are kept: writable and read-only folders, no folder at all, several processes, changed sources."""
from __future__ import annotations

import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from lucid_kernels import trusted_files
from lucid_kernels.cpu.runtime import cache as runtime_cache
from numba.core.registry import cpu_target

BESIDE = "__pycache__/lucid_kernels"
KERNELS = pathlib.Path(__file__).resolve().parents[4] / "kernels"
CODE = """
import numpy as np
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, event): compiled.append(event.data['dispatcher'].py_func.__name__)
    def on_end(self, event): pass
event.register('numba:compile', Listener())
from lucid_kernels.cpu.elementwise import elementwise
assert (elementwise.relu(np.float32([-1, 2])) == [0, 2]).all()
print('compiled' if '_relu' in compiled else 'loaded')
"""


@pytest.fixture
def installed(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with a copy of the package that has compiled nothing yet."""
    folder = tmp_path / "site"
    shutil.copytree(KERNELS / "lucid_kernels", folder / "lucid_kernels", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def start(site: pathlib.Path, **variables: str) -> subprocess.Popen[str]:
    names = ("LUCID_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment |= {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.Popen([sys.executable, "-c", CODE], env=environment, cwd=site, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)


def run(site: pathlib.Path, **variables: str) -> tuple[str, str]:
    """('compiled' or 'loaded', the warnings) of a process that needs one kernel."""
    process = start(site, **variables)
    out, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    return out.strip(), error


def blocked(folder: pathlib.Path) -> None:
    """Put a file where the folder for the cache would be: nobody can write there, root neither."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("")


def test_beside_the_package(installed: pathlib.Path) -> None:
    """Nothing is left in it: what no installer has written it does not delete, and what remains would hide another install."""
    before = set((installed / "lucid_kernels").rglob("*"))
    assert run(installed) == ("compiled", "")
    assert list((installed / BESIDE).glob("cpu.elementwise.elementwise._relu-*.kernel"))
    assert run(installed) == ("loaded", "")
    assert set((installed / "lucid_kernels").rglob("*")) == before


def test_beside_a_script(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (runtime_cache.VARIABLE, "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(variable, raising=False)
    package = tmp_path / "mine" / "kernels"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    assert runtime_cache.folders(runtime_cache._root(str(tmp_path / "script.py")))[1] == str(tmp_path / "__pycache__")
    assert runtime_cache.folders(runtime_cache._root(str(package / "kernel.py")))[1] == str(tmp_path / "__pycache__" / "mine")


def test_a_chosen_folder(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    chosen = str(tmp_path / "new" / "chosen")
    assert run(installed, LUCID_CACHE_DIR=chosen) == ("compiled", "")
    assert run(installed, LUCID_CACHE_DIR=chosen) == ("loaded", "")
    assert not (installed / BESIDE).exists()
    assert run(installed, NUMBA_CACHE_DIR=str(tmp_path / "numba")) == ("compiled", "")
    assert list((tmp_path / "numba").rglob("*.kernel"))


def test_a_read_only_install_uses_the_folder_of_the_user(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    blocked(installed / BESIDE)
    variables = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "home" / "cache")}
    assert run(installed, **variables) == ("compiled", "")
    assert run(installed, **variables) == ("loaded", "")
    assert list((tmp_path / "home").rglob("cpu.elementwise.elementwise._relu-*.kernel"))


def test_without_any_folder_it_computes_and_warns_once(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    blocked(installed / BESIDE)
    blocked(tmp_path / "file")
    chosen = str(tmp_path / "file" / "below")
    result, warning = run(installed, HOME=str(tmp_path / "file"), XDG_CACHE_HOME=str(tmp_path / "file"), LUCID_CACHE_DIR=chosen)
    assert result == "compiled"
    assert warning.count("not kept for the next process") == 1 and "set LUCID_CACHE_DIR" in warning
    assert f"LUCID_CACHE_DIR={chosen} cannot be written" in warning


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root can write everywhere")
def test_a_folder_without_write_permission_is_still_read(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    chosen = tmp_path / "image"
    run(installed, LUCID_CACHE_DIR=str(chosen))
    for path in (*chosen.rglob("*"), chosen):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert run(installed, LUCID_CACHE_DIR=str(chosen), HOME="/nonexistent") == ("loaded", "")
    finally:
        for path in (chosen, *chosen.rglob("*")):
            path.chmod(0o755)


@pytest.fixture
def fresh() -> Iterator[None]:
    """Folders are looked for anew, and those that are refused warned of."""
    runtime_cache.folders.cache_clear()
    trusted_files.warned.clear()
    yield
    runtime_cache.folders.cache_clear()


def test_a_folder_that_can_only_be_read_is_read(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    image, own = tmp_path / "image", tmp_path / "own"
    monkeypatch.setenv("LUCID_CACHE_DIR", str(image))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(own))
    (first,), writable = runtime_cache.folders(str(tmp_path))
    assert first == writable and first.startswith(str(image))
    runtime_cache.folders.cache_clear()
    monkeypatch.setattr(os, "access", lambda folder, mode: folder.startswith(str(own)))
    readable, writable = runtime_cache.folders(str(tmp_path))
    assert readable == (first, writable) and writable is not None and writable.startswith(str(own))


@pytest.mark.parametrize("fault", ["mode", "link", "file"])
@pytest.mark.parametrize("place", ["LUCID_CACHE_DIR", "NUMBA_CACHE_DIR", "beside", "XDG_CACHE_HOME"])
def test_a_folder_that_others_can_write_is_not_used(place: str, fault: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch,
                                                   fresh: None) -> None:
    """Nor is a link to one, nor a file in it: a warning says so, once."""
    for variable in ("LUCID_CACHE_DIR", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(variable, raising=False)
    sources = tmp_path / "sources"
    sources.mkdir()
    if place == "beside":
        folder = sources / "__pycache__"
    else:
        monkeypatch.setenv(place, str(tmp_path / "chosen"))
    if place == "XDG_CACHE_HOME":
        blocked(sources / "__pycache__")
    monkeypatch.setattr(pickle, "loads", lambda data: pytest.fail("it was loaded"))
    (folder,), _ = (found, _) = runtime_cache.folders(str(sources))
    assert folder.startswith(str(tmp_path))
    runtime_cache.folders.cache_clear()

    scope: dict[str, Any] = {}
    exec(compile("def kernel(): pass", str(sources / "mine.py"), "exec"), scope)
    cache = runtime_cache.KernelCache(scope["kernel"])
    codegen = cpu_target.target_context.codegen()
    name, key = cache._file_of((), codegen)
    trusted_files.write(folder, name, key, b"code of another user")
    if fault == "mode":
        os.chmod(folder, 0o777)
    elif fault == "link":
        os.rename(folder, f"{folder}.moved")
        os.symlink(f"{folder}.moved", folder)
    else:
        os.chmod(os.path.join(folder, name), 0o666)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            assert cache.load_overload((), cpu_target.target_context) is None
    (message,) = [str(warning.message) for warning in caught if "are not used" in str(warning.message)]
    assert folder in message and ("symbolic link" if fault == "link" else "others can write") in message


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_code_of_another_user_does_not_run(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    assert run(installed, LUCID_CACHE_DIR=str(shared)) == ("compiled", "")
    assert run(installed, LUCID_CACHE_DIR=str(shared)) == ("loaded", "")  # what others cannot exchange in a shared folder
    (folder,) = shared.iterdir()
    os.chown(folder, 12345, 12345)
    result, warning = run(installed, LUCID_CACHE_DIR=str(shared))
    assert result == "compiled" and warning.count("belongs to another user (uid 12345)") == 1


def test_without_a_home(installed: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked(installed / BESIDE)
    monkeypatch.delenv("HOME", raising=False)
    result, _ = run(installed)
    assert result == "compiled"
    assert not (installed / "~").exists()


def test_processes_share_a_folder(installed: pathlib.Path, tmp_path: pathlib.Path) -> None:
    chosen = str(tmp_path / "shared")
    processes = [start(installed, LUCID_CACHE_DIR=chosen) for _ in range(3)]
    for process in processes:
        _, error = process.communicate(timeout=120)
        assert process.returncode == 0 and error == ""
    assert run(installed, LUCID_CACHE_DIR=chosen) == ("loaded", "")


def test_a_flipped_bit_is_noticed(installed: pathlib.Path) -> None:
    """Of the machine code: it would run. Other damages: `test_trusted_files`."""
    run(installed)
    for path in (installed / BESIDE).iterdir():
        data = bytearray(path.read_bytes())
        data[data.index(b".text") // 2] ^= 4
        path.write_bytes(data)
    assert run(installed) == ("compiled", "")
    assert run(installed) == ("loaded", "")


LOADED = """
import sys
import numpy as np
from lucid_kernels.cpu.losses import cross_entropy
loss, grad = cross_entropy.cross_entropy(np.float32([[1, 2], [3, 1]]), np.array([0, 1]), None, reduction='mean', ignore_index=-100,
                                         label_smoothing=0.1, with_grad=True)
print(repr(loss.item()), grad.tolist(), 'numba.np.arraymath' in sys.modules)
"""


def test_loading_prepares_no_compiler_and_computes_the_same(installed: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "CODE", LOADED)
    compiled, _ = run(installed)
    loaded, _ = run(installed)
    assert compiled.endswith("True") and loaded == compiled.replace("True", "False")


def test_an_edited_import_is_noticed(installed: pathlib.Path) -> None:
    run(installed)
    time.sleep(0.01)
    with open(installed / "lucid_kernels/cpu/math/basic.py", "a") as file:  # not the file of the kernel, but one that it imports
        file.write("\n# edited\n")
    assert run(installed) == ("compiled", "")
    with open(installed / "lucid_kernels/cpu/pooling/pool2d.py", "a") as file:
        file.write("\n# edited\n")
    assert run(installed) == ("loaded", "")
