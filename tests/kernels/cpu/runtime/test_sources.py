"""What a compiled kernel depends on: files of any folder of its package, found by their import statements."""
from __future__ import annotations

import ast
import os
import pathlib
import subprocess
import sys

import pytest
from lucid_kernels.cpu.runtime import sources

PACKAGE = pathlib.Path(sources.__file__).resolve().parents[2]
FILES = {
    "beside/__init__.py": "",
    "beside/shared.py": "def lazily():\n    import mine.arithmetic.inner\nfrom mine.arithmetic import inner\n",
    "mine/__init__.py": "",
    "mine/loops/__init__.py": "",
    "mine/loops/kernel.py": """from lucid_kernels.cpu.runtime.jit import jit, jit_inline
{statement}

@jit
def kernel(x):
    return x + {name}(x)
""",
    "mine/arithmetic/__init__.py": "from .inner import value as shown\n",
    "mine/arithmetic/inner.py": """from lucid_kernels.cpu.runtime.jit import jit_inline

@jit_inline
def value(x):
    return x * 2
""",
}
STATEMENTS = {
    "from ..arithmetic.inner import value": "value",
    "from ..arithmetic import inner": "inner.value",
    "from ..arithmetic import shown": "shown",
    "from .. import arithmetic": "arithmetic.shown",
    "from mine.arithmetic.inner import (  # a (function)\n    value,\n)": "value",
    "import mine.arithmetic.inner": "mine.arithmetic.inner.value",
    "from \\\n    ..arithmetic import inner": "inner.value",
    "if True: from ..arithmetic import inner as other": "other.value",
    "from beside import shared": "shared.inner.value",
    "import sys; from ..arithmetic import inner": "inner.value",
    "def value(x):\n    from ..arithmetic import inner\n    return inner.value(x)": "value",
}


def package(folder: pathlib.Path, statement: str, name: str) -> pathlib.Path:
    """Write the files of a package of two folders; the file with its kernel."""
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text.format(statement=statement, name=name))
    return folder / "mine/loops/kernel.py"


@pytest.mark.parametrize("statement", STATEMENTS)
def test_imports_of_another_folder(statement: str, tmp_path: pathlib.Path) -> None:
    found = sources._imported(str(package(tmp_path, statement, STATEMENTS[statement])))
    assert str(tmp_path / "mine/arithmetic/inner.py") in found
    assert str(PACKAGE / "cpu/runtime/jit.py") in found


def test_a_script_imports_what_is_beside_it(tmp_path: pathlib.Path) -> None:
    def own(script: pathlib.Path) -> set[str]:
        return {path for path in sources._imported(str(script)) if path.startswith(str(tmp_path))}

    for folder in (tmp_path, tmp_path / "site-packages"):
        package(folder, "from .. import arithmetic", "arithmetic.shown")
        (folder / "script.py").write_text("import os, numpy, helper\nfrom mine.arithmetic import inner\n")
        (folder / "helper.py").write_text("")
    names = ("script.py", "helper.py", "mine/arithmetic/inner.py")
    assert {str(tmp_path / name) for name in names} == own(tmp_path / "script.py")
    assert own(tmp_path / "site-packages/script.py") == {str(tmp_path / "site-packages/script.py")}


def test_files_outside_of_the_kernels_folder_are_followed() -> None:
    found = sources._imported(str(PACKAGE / "cpu/recurrent/sequence.py"))
    assert str(PACKAGE / "recurrence.py") in found
    assert str(PACKAGE / "expression.py") in sources._imported(str(PACKAGE / "cpu/elementwise/fused.py"))
    assert str(PACKAGE / "trusted_files.py") in sources._imported(str(PACKAGE / "cpu/runtime/jit.py"))


def test_no_statement_is_missed() -> None:
    """They are parsed one by one; those that stand in docstrings too."""
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        expected = {ast.dump(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)}
        assert expected <= set(map(ast.dump, sources._imports(text))), path


@pytest.mark.parametrize("text", [
    "import a  # see (1\ndef f():\n    import b\n    return g(1)", "import a; x = \"\"\"\n\"\"\"\nimport b", "if x: import a; y = [\n]",
    "import a\rimport b", "from \\\r\n a import b\r\n", "\fimport a\n", "def f(x): from a import (b,  # of c)\n    d)",
    "match x:\n    case (1): import a", "x = lambda: 0\nasync def f():\n  async with a: import b", "class A:import a\nelse_ = {1: 2};import b",
    "try: import a\nexcept (b): from . import c", "\"\"\"\nfrom here (see\n\"\"\"\nimport a\nx = (1)"])
def test_no_form_of_a_statement_is_missed(text: str) -> None:
    expected = {ast.dump(node) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)}
    assert expected and expected <= set(map(ast.dump, sources._imports(text)))


def test_a_file_that_is_no_python_of_today(tmp_path: pathlib.Path) -> None:
    """Beside a script, which need not import it."""
    (tmp_path / "old.py").write_bytes(b"import helper\nprint 'caf\xe9'\nfrom (\n")
    (tmp_path / "helper.py").touch()
    assert set(sources._imported(str(tmp_path / "old.py"))) == {str(tmp_path / "old.py"), str(tmp_path / "helper.py")}


@pytest.mark.parametrize("statement", ["from ..arithmetic.inner import value", "from beside import shared"])
def test_an_edit_in_another_folder_or_package_is_compiled(statement: str, tmp_path: pathlib.Path) -> None:
    package(tmp_path, statement, STATEMENTS[statement])
    path = os.pathsep.join([str(tmp_path), str(PACKAGE.parent)])
    environment = {**os.environ, "PYTHONPATH": path, "LUCID_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    inner = tmp_path / "mine/arithmetic/inner.py"
    for text, expected in ((inner.read_text(), "3.0"), (inner.read_text().replace("x * 2", "x * 5"), "6.0")):
        inner.write_text(text)
        done = subprocess.run([sys.executable, "-c", "from mine.loops.kernel import kernel; print(kernel(1.0))"], env=environment,
                              capture_output=True, text=True)
        assert done.stdout.strip() == expected, done.stderr
