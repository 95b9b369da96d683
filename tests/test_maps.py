"""The docstring of each package names its modules, each at the beginning of a line, and nothing that is not there."""
from __future__ import annotations

import ast
import itertools
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGES = [path.parent for top in ("lucid", "kernels/lucid_kernels") for path in sorted((ROOT / top).rglob("__init__.py"))
            if path.parent != ROOT / "lucid"]  # whose docstring is for users
PACKAGES.append(ROOT / "kernels" / "bench")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: str(package.relative_to(ROOT)))
def test_the_docstring_of_a_package_names_its_modules(package: pathlib.Path) -> None:
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    lines = re.findall(r"^((?:`\w+`,\s)*`\w+`): ", docstring, re.MULTILINE)
    named = list(itertools.chain.from_iterable(re.findall(r"`(\w+)`", line) for line in lines))
    there = {path.stem for path in package.glob("*.py")} | {path.parent.name for path in package.glob("*/__init__.py")}
    assert sorted(named) == sorted(there - {"__init__"})
