"""The house: imports have one direction, and files and folders are of a size that one can take in."""
from __future__ import annotations

import ast
import graphlib
import pathlib
from collections import Counter
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = {"lucid": ROOT / "lucid", "lucid_kernels": ROOT / "kernels" / "lucid_kernels"}


def modules() -> dict[str, pathlib.Path]:
    """The files of lucid and of its kernels by their dotted names."""
    found = {}
    for package, folder in SOURCES.items():
        for path in folder.rglob("*.py"):
            parts = [package, *path.relative_to(folder).with_suffix("").parts]
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Pairs (module, name in it) that a file imports anywhere, but for type checkers only."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    nodes: list[ast.AST] = [ast.parse(path.read_text())]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            nodes += node.orelse
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            module = ".".join(part for part in (above, node.module) if part)
            yield from ((module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (tuple(alias.name.rpartition(".")[::2]) for alias in node.names)
        else:
            nodes += ast.iter_child_nodes(node)


def test_no_circle_of_imports() -> None:
    known = modules()
    graph = {}
    for name, path in known.items():
        found = {f"{module}.{imported}" if f"{module}.{imported}" in known else module for module, imported in imports(name, path)}
        graph[name] = {module for module in found & known.keys() if module != name}
    assert graph["lucid.nn.modules.linear"] >= {"lucid.nn.functional", "lucid.tensor"}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        raise AssertionError("these import each other: " + " -> ".join(reversed(error.args[1]))) from None


@pytest.mark.parametrize("folder", ["lucid", "kernels", "tests", "examples"])
def test_no_folder_holds_more_than_26_files(folder: str) -> None:
    files = Counter(path.parent.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py"))
    assert {name: count for name, count in files.items() if count > 26} == {}


def test_no_file_has_more_than_700_lines() -> None:
    lines = {path.relative_to(ROOT).as_posix(): path.read_text().count("\n")
             for folder in ("lucid", "kernels", "tests", "examples", "docs") for path in (ROOT / folder).rglob("*.py")}
    assert {name: count for name, count in lines.items() if count > 700} == {}
