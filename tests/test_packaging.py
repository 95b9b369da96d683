"""What `pip install` installs: every package, every CUDA source, the right metadata, and nothing else."""
from __future__ import annotations

import configparser
import email.message
import email.parser
import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = {"lucid": ROOT / "lucid", "lucid_kernels": ROOT / "kernels" / "lucid_kernels"}


def packages() -> set[str]:
    """Every folder with an __init__.py, as a dotted name."""
    return {".".join([name, *init.parent.relative_to(folder).parts])
            for name, folder in SOURCES.items() for init in folder.rglob("__init__.py")}


def files(*suffixes: str) -> set[str]:
    """Every file with one of the suffixes, as a path inside the wheel."""
    return {f"{name}/{path.relative_to(folder).as_posix()}" for name, folder in SOURCES.items()
            for path in folder.rglob("*") if path.suffix in suffixes and path.is_file()}


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with the sdist, and the wheel built from that sdist. Built from a copy: `build/` keeps deleted files."""
    pytest.importorskip("build")
    source = tmp_path_factory.mktemp("source") / "lucid"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__", "output"))
    for path in ("kernels/__pycache__/lucid_kernels.cpu/relu.kernel", "tests/__pycache__/test_import.pyc"):
        (source / path).parent.mkdir(parents=True)
        (source / path).touch()
    out = tmp_path_factory.mktemp("distributions")
    done = subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(source)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def wheel(distributions: pathlib.Path) -> zipfile.ZipFile:
    """The wheel."""
    return zipfile.ZipFile(next(distributions.glob("*.whl")))


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> email.message.Message:
    """The wheel's METADATA."""
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return email.parser.Parser().parsestr(wheel.read(name).decode())


def test_every_package_is_listed_in_setup_cfg() -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg")
    listed = set(parser["options"]["packages"].split())
    missing, gone = sorted(packages() - listed), sorted(listed - packages())
    assert not missing, f"add to `packages` in setup.cfg, or `pip install` leaves them out: {', '.join(missing)}"
    assert not gone, f"remove from `packages` in setup.cfg, there is no such folder: {', '.join(gone)}"


def test_every_folder_with_modules_is_a_package() -> None:
    bare = {path.parent for folder in SOURCES.values() for path in folder.rglob("*.py")
            if not (path.parent / "__init__.py").exists()}
    assert not bare, f"folders with modules but no __init__.py are not installed: {sorted(map(str, bare))}"


def test_the_wheel_holds_every_file(wheel: zipfile.ZipFile) -> None:
    wanted = files(".py", ".cu", ".cuh", ".h") | {"lucid/py.typed", "lucid_kernels/py.typed"}
    missing = sorted(wanted - set(wheel.namelist()))
    assert not missing, f"not in the wheel (see `packages` and `package_data` in setup.cfg): {missing}"
    assert any(name.endswith(".cu") for name in wanted)
    assert any(name.endswith(".h") for name in wanted)


def test_the_wheel_installs_two_packages_only(wheel: zipfile.ZipFile) -> None:
    top = {name.split("/")[0] for name in wheel.namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == {"lucid", "lucid_kernels"}


def test_metadata(metadata: email.message.Message) -> None:
    assert metadata["Name"] == "lucid-xp"
    assert set(str(metadata["Requires-Python"]).split(",")) == {">=3.11", "<3.14"}
    assert {"cuda12", "cuda13", "examples", "test", "dev", "simulator"} <= set(metadata.get_all("Provides-Extra", []))
    required = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert {re.split("[<>;]", line)[0].strip() for line in required} == {
        "numpy", "numba", "tbb", "ml_dtypes", "safetensors"}


def test_the_plugin_of_pytest_is_shipped(wheel: zipfile.ZipFile) -> None:
    points = configparser.ConfigParser()
    points.read_string(wheel.read(next(name for name in wheel.namelist() if name.endswith("entry_points.txt"))).decode())
    module = "lucid_kernels.numpy_warnings"
    assert dict(points["pytest11"]) == {module: module}
    assert hasattr(importlib.import_module(module), "pytest_runtest_setup")


def test_the_licence_is_shipped(wheel: zipfile.ZipFile) -> None:
    assert any(name.endswith("LICENSE") for name in wheel.namelist())


def test_the_sdist_holds_all_that_is_in_the_repository(distributions: pathlib.Path) -> None:
    """So the tests run from it, and need what is here: their conftest, the bench, the documents."""
    with tarfile.open(next(distributions.glob("*.tar.gz"))) as archive:
        names = {name.split("/", 1)[-1] for name in archive.getnames()}
    folders = [ROOT / name for name in ("lucid", "kernels", "tests", "docs", "examples")]
    paths = [path.relative_to(ROOT) for folder in folders for path in folder.rglob("*") if path.is_file()]
    paths += [path.relative_to(ROOT) for path in ROOT.glob("*.*") if path.is_file()]
    built = ("docs/_build/", "docs/reference/", "docs/changelog.md", "docs/contributing.md", "docs/kernels.md")
    paths = [path for path in paths if not path.as_posix().startswith(built)]
    wanted = {path.as_posix() for path in paths if "__pycache__" not in path.parts and not path.name.startswith(".")}
    assert {"tests/conftest.py", "kernels/bench/run.py", "MANIFEST.in", "README.md"} <= wanted
    missing = sorted(wanted - names)
    assert not missing, f"not in the sdist (see MANIFEST.in): {missing}"
    assert not [name for name in names if name.endswith((".pyc", ".kernel"))]


def test_an_editable_install_is_found_from_the_folder_above(tmp_path: pathlib.Path) -> None:
    """Where the clone is a folder `lucid` without modules of its own, which Python would take for a namespace package."""
    installed = {distribution.name for distribution in importlib.metadata.distributions()}  # to look for a module exchanges distutils
    if missing := {"pip", "setuptools"} - installed:
        pytest.skip(f"{missing} are not installed")
    clone, prefix = tmp_path / "lucid", tmp_path / "prefix"
    names = ("pyproject.toml", "build_backend.py", "setup.cfg", "README.md", "LICENSE", "lucid", "kernels/lucid_kernels")
    for name in names:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).symlink_to(ROOT / name)
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation",
                           "--ignore-installed", "--no-warn-script-location", "--prefix", str(prefix), "-e", str(clone)],
                          capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (site,) = prefix.rglob("site-packages")
    own = [str(ROOT), str(ROOT / "kernels")]  # where the tests themselves run from an editable install
    code = (f"import site, sys; sys.path[:] = [entry for entry in sys.path if entry not in {own}]; site.addsitedir({str(site)!r}); "
            "import lucid, lucid_kernels; print(lucid.__file__, lucid_kernels.__file__)")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.stdout.split() == [str(clone / "lucid/__init__.py"), str(clone / "kernels/lucid_kernels/__init__.py")], done.stderr
