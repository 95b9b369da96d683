"""Families register what becomes a method of Tensor."""
from __future__ import annotations

import ast
import pathlib
import subprocess
import sys

import lucid

FOLDER = pathlib.Path(lucid.__file__).parent / "ops"
LISTS = {"METHODS", "INPLACE_METHODS", "SPECIAL_METHODS", "SINGLE", "OPERATORS", "REFLECTED", "INPLACE_OPERATORS"}


def families() -> set[str]:
    """The modules of lucid.ops that have one of the lists."""
    found = set()
    for path in FOLDER.rglob("*.py"):
        names = {ast.unparse(target) for node in ast.parse(path.read_text()).body if isinstance(node, (ast.Assign, ast.AnnAssign))
                 for target in (node.targets if isinstance(node, ast.Assign) else [node.target])}
        if names & LISTS:
            found.add(".".join(["lucid.ops", *path.relative_to(FOLDER).with_suffix("").parts]))
    return found


def test_importing_lucid_registers_every_family() -> None:
    code = "import lucid; from lucid.ops._methods import families; print(*[family.__name__ for family in families])"
    registered = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert len(registered) > 50
    assert sorted(registered) == sorted(families())
