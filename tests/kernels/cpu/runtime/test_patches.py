"""What the kernels' runtime changes in other libraries: all of it stands in one file, and fits the versions that are installed."""
from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest
from lucid_kernels.cpu.runtime import patches

ROOT = pathlib.Path(__file__).parents[4]
KERNELS = ROOT / "kernels"
SOURCES = [*(ROOT / "lucid").rglob("*.py"), *(KERNELS / "lucid_kernels").rglob("*.py")]


def test_each_change_has_its_function_and_says_why() -> None:
    for name, change in {**patches.PATCHES, **patches.SETTINGS}.items():
        assert callable(getattr(patches, name)) and all(change), name


def test_the_versions_are_those_that_are_installed_with_lucid() -> None:
    setup = ROOT / "setup.cfg"
    if not setup.is_file():
        pytest.skip("no setup.cfg beside the tests")
    assert {patches.NUMBA, patches.NUMPY} <= set(map(str.strip, setup.read_text().splitlines()))


def _source(name: str) -> str:
    """The text of a class or function, by its dotted name."""
    package, *parts = name.split(".")
    (folder,) = importlib.util.find_spec(package).submodule_search_locations  # type: ignore[union-attr, misc]
    path = pathlib.Path(folder)
    while not path.with_suffix(".py").is_file():
        path /= parts.pop(0)
    text = path.with_suffix(".py").read_text()
    node: ast.AST = ast.parse(text)
    for part in parts:
        inner = (n for n in node.body if isinstance(n, ast.ClassDef | ast.FunctionDef))  # type: ignore[attr-defined]
        node = next(n for n in inner if n.name == part)
    first = min(n.lineno for n in (node, *node.decorator_list))  # type: ignore[attr-defined]
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno])  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "digest"), [pair for names in patches.RELIED_ON.values() for pair in names.items()])
def test_what_is_relied_on_is_as_it_was(name: str, digest: str) -> None:
    assert hashlib.sha256(_source(name).encode()).hexdigest()[:16] == digest, (
        f"{name} has changed: see whether what relies on it (patches.RELIED_ON) still holds, and write its new digest there")


# ---- nobody else assigns ---------------------------------------------------------------------------------------------------


def _root(node: ast.AST) -> str | None:
    """The name that an attribute, or an element of one, is of: a, for a.b.c, a[b].c and vars(a)[b]. None for modules by name."""
    while True:
        if ast.unparse(node) == "sys.modules":
            return None
        if isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("vars", "getattr"):
            node = node.args[0]
        else:
            return node.id if isinstance(node, ast.Name) else None


def _assigned(nodes: list[ast.AST]) -> Iterator[tuple[ast.AST, ast.expr | None]]:
    """(what is assigned to, deleted or set, the value) in a file."""
    for node in nodes:
        if isinstance(node, ast.Assign | ast.Delete):
            for target in node.targets:
                for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                    yield part, getattr(node, "value", None)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign):
            yield node.target, node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("setattr", "delattr"):
            yield ast.Attribute(node.args[0], "", ast.Store()), None


#: What a command sets for the program that it runs, and where Python finds the lines of code that has no file.
OF_THE_PROCESS = ("sys.argv", "sys.path[", "sys.meta_path[", "os.environ[", "linecache.cache[")


def _assignments_to_others(text: str) -> list[str]:
    """The assignments to modules of other libraries, and to what is taken from these."""
    nodes = list(ast.walk(ast.parse(text)))
    others: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            others |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            others |= {alias.asname or alias.name for alias in node.names}
    own = {"lucid", "lucid_kernels"}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in own and not node.level:
            own |= {alias.asname or alias.name for alias in node.names}
    others -= own
    assigned = list(_assigned(nodes))
    for target, value in assigned:  # other names for the same
        if isinstance(target, ast.Name) and isinstance(value, ast.Attribute | ast.Name) and _root(value) in others:
            others.add(target.id)
    return [text for target, _ in assigned
            if isinstance(target, ast.Attribute | ast.Subscript) and _root(target) in others
            and not (text := ast.unparse(target)).startswith(OF_THE_PROCESS)]


@pytest.mark.parametrize("text", [
    "import numba\nnumba.config.X = 1", "from numba.core import types\ntypes.A.b = f", "import numba.core as c\nC: Any = c.D\nC.e = 1",
    "import pickle\nsetattr(pickle, 'dumps', f)", "import a\nvars(a)['b'] = 1", "def f():\n    import a\n    del a.b.c",
    "import a\na.b, c = 1, 2"])
def test_an_assignment_to_another_library_is_seen(text: str) -> None:
    assert len(_assignments_to_others(text)) == 1


def test_no_other_file_assigns_to_another_library() -> None:
    found = {path.relative_to(ROOT).as_posix(): names for path in SOURCES
             if (names := _assignments_to_others(path.read_text()))}
    assert found.keys() == {pathlib.Path(patches.__file__).relative_to(ROOT).as_posix()}


# ---- nothing else changes when kernels are compiled and run ----------------------------------------------------------------------

CHANGES = """
import copyreg, gc, json, pickle, sys, types, warnings
import llvmlite.binding, numba, numpy as np
from numba.core import config
from numba.core.registry import cpu_target

FOREIGN = ("numba", "llvmlite", "numpy", "ml_dtypes", "pickle", "copyreg")
CACHES = ("__slotnames__", "__warningregistry__", "_StringReferenceCaching__cached_refstr")  # of copyreg, warnings and llvmlite
PLAIN = (str, int, float, bool, bytes, tuple, frozenset, type(None), list, dict, set)


def of_others(thing):
    kind = thing if isinstance(thing, type) else type(thing)
    name = thing.__name__ if isinstance(thing, types.ModuleType) else getattr(kind, "__module__", None)
    return isinstance(name, str) and name.partition(".")[0] in FOREIGN


def name_of(path, thing):
    if isinstance(thing, types.ModuleType):
        return thing.__name__
    return f"{thing.__module__}.{thing.__qualname__}" if isinstance(thing, type) else path


def snapshot():
    found, seen = {}, set()
    waiting = [("", module) for module in list(sys.modules.values()) if of_others(module)]
    waiting.append(("codegen", cpu_target.target_context.codegen()))
    while waiting:
        path, thing = waiting.pop()
        attributes = getattr(thing, "__dict__", None)
        if id(thing) in seen or not isinstance(attributes, (dict, types.MappingProxyType)):
            continue
        seen.add(id(thing))
        name = name_of(path, thing)
        for key, value in attributes.copy().items():
            if isinstance(key, str) and key not in CACHES:
                found[name, key] = value
                if not isinstance(value, PLAIN) and of_others(value):
                    waiting.append((f"{name}.{key}", value))
    return found


def control():
    for parallel in (False, True):
        @numba.njit(parallel=parallel)
        def function(x):
            total = np.empty_like(x)
            for i in numba.prange(len(x)):
                total[i] = np.exp(x[i]) ** 2 + len(x)
            return total.sum()

        function(np.ones(5)), function(np.ones(5, np.float32))


def differences(before, after):
    # What is another object than before, or new in what was there; of modules, all but the modules in them.
    there, missing = {name for name, _ in before}, object()
    return {f"{name}.{key}" for name, key in before.keys() | after.keys()
            if name in there and before.get((name, key), missing) is not after.get((name, key), missing)
            and not isinstance(after.get((name, key)), types.ModuleType)}


control()
first = snapshot()
control()
before = snapshot()
of_numba = differences(first, before)
config.DISABLE_JIT = len(sys.argv) > 1
before["numba.core.config", "DISABLE_JIT"] = config.DISABLE_JIT

import lucid
from numba.extending import intrinsic
from numba.core import types as numba_types
from lucid_kernels.cpu.runtime import patches, jit, allocator

during = set()

@intrinsic
def look(typing):
    during.update(differences(before, snapshot()) - of_numba)
    return numba_types.void(), lambda context, builder, signature, arguments: context.get_dummy_value()


def kernel(x):
    look()
    return np.empty(3).size + x[0]


assert jit.jit(kernel)(np.ones(3)) == 4
x = lucid.zeros(1 << 20, requires_grad=True)
(x + x).sum().backward()
pickle.loads(pickle.dumps(x.detach()))
after = differences(before, snapshot()) - of_numba
print(json.dumps([sorted(during), sorted(after), allocator.POOL.count().allocated > 0]))
"""


@pytest.mark.parametrize("enabled", [True, False])
def test_nothing_else_changes(enabled: bool, tmp_path: pathlib.Path) -> None:
    """Neither while a kernel is compiled nor afterwards, in the modules, classes and objects of Numba, llvmlite, NumPy and pickle."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, KERNELS))), patches.VARIABLE: str(int(enabled))}
    script = tmp_path / "script.py"
    script.write_text(CHANGES)
    done = subprocess.run([sys.executable, str(script), *["disable jit"] * enabled], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    during, after, pooled = json.loads(done.stdout.splitlines()[-1])
    attributes = [f"numpy.dtype.{name}" for name in ("is_complex", "is_floating_point", "is_signed", "to_complex", "to_real")]
    always = ["numba.core.config.THREADING_LAYER", *(attributes if enabled else [])]
    assert after == always
    compiling = ["numba.core.config.DISABLE_JIT", *always[:1],
                 "numba.core.types.functions.BaseFunction.get_call_type",
                 *[f"numba.core.typing.templates._OverloadFunctionTemplate.{name}" for name in ("_get_impl", "_get_jit_decorator")]]
    assert during == ([*compiling, *attributes] if enabled else always)
    assert pooled <= enabled  # some systems have no pool
