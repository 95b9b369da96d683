"""Keywords and order of arguments: what PyTorch's functions, methods and constructors take, lucid's take too.

PyTorch's own are written in C++; the stubs beside them list their overloads.
"""
from __future__ import annotations

import ast
import functools
import inspect
import pathlib
from collections import defaultdict
from typing import Any

import pytest

import lucid

pytestmark = pytest.mark.torch
torch: Any = pytest.importorskip("torch")

#: Modules whose Python functions and classes are compared; lucid's by the name after the colon.
PYTHON = """nn nn.functional nn.init nn.utils nn.utils.rnn nn.utils.parametrize nn.utils.parametrizations optim optim.lr_scheduler
    optim.swa_utils linalg fft special autograd autograd.functional random utils.data:data nn.Module Tensor""".split()
#: Keywords that are not taken, and why.
REFUSED = {
    "names": "named tensors",
    "out_dtype": "of products on CUDA only",
    "pickle_module": "loading and saving never run code", "pickle_protocol": "no pickles",
    "_use_new_zipfile_serialization": "no pickles", "_disable_byteorder_record": "no pickles",
}
#: The deprecated order in which factors come first, which methods that write in place take.
FACTORS_FIRST = ("beta", "self")


def _overloads(stub: str, cls: str = "") -> dict[str, list[ast.arguments]]:
    body = ast.parse((pathlib.Path(torch.__file__).parent / stub).read_text()).body
    if cls:
        body = [node for part in body if isinstance(part, ast.ClassDef) and part.name == cls for node in part.body]
    found = defaultdict(list)
    for node in body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            found[node.name].append(node.args)
    return found


def _keywords(function: Any) -> set[str] | None:
    """The keywords that a function takes; None if it takes any."""
    names: set[str] = set()
    while True:  # what wraps a function adds keywords to its own
        names.update(getattr(function, "added_keywords", ()))
        for form in (getattr(function, "general", function), function):  # the form that takes keywords of its own is the first
            parameters = inspect.signature(form, follow_wrapped=False).parameters.values()
            names |= {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        if not any(p.kind is p.VAR_KEYWORD for p in parameters):
            return names
        function = function.func if isinstance(function, functools.partial) else getattr(function, "__wrapped__", None)
        if function is None:
            return None


def _lacking(function: Any, wanted: set[str]) -> set[str]:
    taken = _keywords(function)
    return set() if taken is None else wanted - taken - REFUSED.keys() - {"self", "cls"}


@pytest.mark.parametrize(("stub", "cls"), [("_C/_VariableFunctions.pyi", ""), ("_C/__init__.pyi", "TensorBase")])
def test_functions_and_methods_take_the_keywords_of_all_overloads(stub: str, cls: str) -> None:
    wrong = {}
    for name, overloads in _overloads(stub, cls).items():
        function = getattr(lucid.Tensor if cls else lucid, name, None)
        if not callable(function):
            continue
        wanted = {a.arg for o in overloads if (o.args[:1] and o.args[0].arg not in FACTORS_FIRST) or cls
                  for a in (*o.args, *o.kwonlyargs)}
        if cls:  # methods take no `out`, though stubs say so; there are no storages apart from tensors
            wanted -= {"out", "storage"}
        elif name.endswith("_"):  # methods, called as functions
            wanted -= {"input"}
        if lacking := _lacking(function, wanted):
            wrong[name] = sorted(lacking)
    assert not wrong


@pytest.mark.parametrize("where", PYTHON)
def test_python_functions_and_constructors_take_the_same_keywords(where: str) -> None:
    theirs_at, _, ours_at = where.partition(":")

    def found(root: Any, path: str) -> Any:
        return functools.reduce(getattr, path.split("."), root)

    theirs, ours = found(torch, theirs_at), found(lucid, ours_at or theirs_at)
    wrong = {}
    for name in sorted(set(dir(theirs)) & set(dir(ours))):
        their, our = getattr(theirs, name), getattr(ours, name)
        if name.startswith("_") or not callable(their) or not callable(our):
            continue
        if inspect.isclass(their) and inspect.isclass(our):
            their, our = their.__init__, our.__init__
        try:
            parameters = inspect.signature(their).parameters.values()
            inspect.signature(our)
        except ValueError:
            continue
        wanted = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        if lacking := _lacking(our, wanted):
            wrong[name] = sorted(lacking)
    assert not wrong


def test_functions_take_arguments_in_the_same_order() -> None:
    wrong = {}
    for name, overloads in _overloads("_C/_VariableFunctions.pyi").items():
        function = getattr(lucid, name, None)
        if not callable(function):
            continue
        parameters = inspect.signature(function).parameters.values()
        if any(p.kind is p.VAR_POSITIONAL for p in parameters):
            continue
        ours = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)]
        for overload in overloads:
            theirs = [a.arg for a in overload.args]
            common = [n for n in theirs if n in ours]
            if common != [n for n in ours if n in theirs]:
                wrong[name] = (theirs, ours)
    assert not wrong
