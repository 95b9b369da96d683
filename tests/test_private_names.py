"""What a package keeps to itself: a name with an underscore is imported inside the package that it stands in, and nowhere else."""
from __future__ import annotations

import ast
import importlib.util
import pathlib
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = (ROOT / "lucid", ROOT / "kernels" / "lucid_kernels")
ALLOWED = {"lucid.nn.modules.batchnorm._BatchNorm",  # PyTorch's own name, which users import too
           "lucid.ops.linalg._matrices"}


def modules() -> Iterator[tuple[str, pathlib.Path]]:
    """Every module of both trees, by its dotted name."""
    for folder in FOLDERS:
        for path in folder.rglob("*.py"):
            parts = path.relative_to(folder.parent).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imported(name: str, path: pathlib.Path) -> Iterator[str]:
    """The dotted names that a module imports, wherever in it."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = importlib.util.resolve_name("." * node.level + (node.module or ""), package) if node.level else node.module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def of_another_package(importer: str, full: str, known: dict[str, pathlib.Path]) -> bool:
    """Whether `full` ends in a name with an underscore of a package that `importer` is not in."""
    above, _, name = full.rpartition(".")
    if not name.startswith("_") or name.startswith("__"):
        return False
    package = above if known[above].name == "__init__.py" else above.rpartition(".")[0]
    return not f"{importer}.".startswith(f"{package}.")


def test_names_with_an_underscore_stay_in_their_package() -> None:
    known = dict(modules())
    assert len(known) > 500
    found = {f"{name} imports {full}" for name, path in known.items() for full in imported(name, path)
             if full.split(".")[0] in ("lucid", "lucid_kernels") and full not in ALLOWED
             and of_another_package(name, full, known)}
    assert not found, "\n".join(sorted(found))


def test_an_import_from_another_package_is_found() -> None:
    known = dict(modules())
    assert of_another_package("lucid.optim.adam", "lucid.nn.modules.batchnorm._BatchNorm", known)
    assert of_another_package("lucid.backends.memory", "lucid_kernels.cpu.runtime.allocator._size", known)
    assert not of_another_package("lucid.optim.adam", "lucid._dtypes.dtype", known)
    assert not of_another_package("lucid.nn.modules.conv", "lucid.nn.modules.batchnorm._BatchNorm", known)
