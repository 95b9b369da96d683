"""What a compiled kernel depends on: its file and all that it imports of its package, of what lies beside that, and of this one.

A kernel contains the functions that it calls, so an edit of theirs makes it stale.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator

import llvmlite
import numba

from . import patches

_HERE = os.path.dirname(os.path.abspath(__file__))
_OWN_PACKAGE = __name__.partition(".")[0]
# What may be an import statement: from where one can begin, up to where it ends or a parenthesis does. `ast` tells which are.
_STATEMENT = re.compile(r"[\n:;][ \t\f]*((?:from|import)\b(?:[^\n\\(;#]+|\\[\s\S]|\([^)]*\))*)")


def _imports(text: str) -> list[ast.Import | ast.ImportFrom]:
    """The import statements of a source text, at any depth.

    To parse these alone takes a twentieth of the time that all of the text takes, which was a tenth of a process's first step.
    """
    nodes: list[ast.AST] = []
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for match in _STATEMENT.findall(f"\n{text}"):
        try:
            nodes += ast.parse(match).body
        except SyntaxError:  # a line of a docstring, unless a parenthesis has ended too early, in a comment
            if "(" in match:
                with contextlib.suppress(SyntaxError):  # of a file for another version of Python
                    nodes += ast.walk(ast.parse(text))
                break
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


@functools.cache
def outermost_package(folder: str) -> tuple[str, str]:
    """(the folder that holds the outermost package of the files in `folder`, the package's name or '')."""
    name = ""
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
    return folder, name


def _base(folder: str, name: str) -> str | None:
    """Where the module of an absolute `name`, imported by a file in `folder`, would lie; None if it is installed."""
    top, package = outermost_package(folder)
    first = name.partition(".")[0]
    if first == _OWN_PACKAGE:
        top = outermost_package(_HERE)[0]
    # A script or a package imports what lies beside it. In a folder of installed packages that is all of them.
    elif first != package and os.path.basename(top) in ("site-packages", "dist-packages"):
        return None
    return os.path.join(top, *name.split("."))


def _module(base: str, names: Iterable[str] = ()) -> Iterator[str]:
    """The files of the module at `base`, from which `names` are imported: those of submodules, where they are some."""
    if not os.path.isdir(base):
        yield f"{base}.py"
        return
    for name in names:
        inner = os.path.join(base, name)
        if os.path.isdir(inner) or os.path.isfile(f"{inner}.py"):
            yield from _module(inner)
        else:
            yield os.path.join(base, "__init__.py")
    if not names:
        yield os.path.join(base, "__init__.py")


def _imported_by(statement: ast.Import | ast.ImportFrom, folder: str) -> Iterator[str]:
    """The files that `statement` imports in a file in `folder`; some may not exist."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            parts = alias.name.split(".")
            for count in range(len(parts)):  # a.b.c makes a and a.b known too
                base = _base(folder, ".".join(parts[: count + 1]))
                if base is not None:
                    yield from _module(base)
        return
    if statement.level:
        for _ in range(statement.level - 1):
            folder = os.path.dirname(folder)
        base = os.path.join(folder, *(statement.module or "").split("."))
    else:
        base = _base(folder, statement.module or "")
    if base is not None:
        yield from _module(base.rstrip(os.sep), [alias.name for alias in statement.names])


@functools.cache
def _source(file: str) -> tuple[bytes, tuple[str, ...]] | None:
    """The digest of a file, and the files that it imports; None if there is none.

    Kept, as most are imported by many: for the kernels of a small conv net 85 files were read and searched 1,500 times.
    """
    if not os.path.isfile(file):
        return None
    with open(file, "rb") as source:
        text = source.read()
    folder = os.path.dirname(file)
    imported = {path for statement in _imports(text.decode(errors="replace")) for path in _imported_by(statement, folder)}
    return hashlib.sha256(text).digest(), tuple(imported)


def _imported(path: str) -> dict[str, bytes]:
    """The digests of `path` and of the files that it imports, directly or not."""
    found, waiting = dict[str, bytes](), [path]
    while waiting:
        file = waiting.pop()
        source = None if file in found else _source(file)
        if source is not None:
            found[file], imports = source
            waiting += imports
    return found


def _digest(path: str) -> bytes:
    digest = hashlib.sha256()
    for _, of_file in sorted(_imported(path).items()):
        digest.update(of_file)
    return digest.digest()


@functools.cache
def _compiler() -> bytes:
    """The versions, whether Numba is patched, and the sources of what compiles and keeps kernels."""
    versions = f"{sys.version} {numba.__version__} {llvmlite.__version__} {patches.ENABLED}"
    return versions.encode() + _digest(os.path.join(_HERE, "jit.py"))


@functools.cache
def stamp(path: str) -> bytes:
    """What the compiled kernels of the file `path` depend on."""
    return hashlib.sha256(_compiler() + _digest(path)).digest()
