"""Every name of the operation surface exists: as a function, as a method and in place where PyTorch has it, with the parameters
that PyTorch's declarations name, in their order.
"""
from __future__ import annotations

import inspect
from typing import Any

import pytest

import lucid
from tests.ops.table.surface import FUNCTIONS, LUCID_FUNCTIONS, METHODS, MODULES, PROPERTIES, TENSOR_TYPES

NAMES = [(family, name) for family, names in FUNCTIONS.items() for name in names.split()]
# Parameters of PyTorch's declarations that its Python functions do not have, or that concern memory that lucid does not know.
IGNORED = {"layout", "pin_memory", "names", "out", "indices", "values", "min", "max", "implicit", "half_to_float", "dim0_sizes"}


@pytest.mark.parametrize(("family", "name"), NAMES)
def test_function_exists(family, name):
    assert callable(getattr(lucid, name, None)), f"lucid.{name} is missing"


@pytest.mark.torch
@pytest.mark.parametrize(("family", "name"), NAMES)
def test_method_exists_where_pytorch_has_one(family, name):
    torch = pytest.importorskip("torch")
    for method in (name, f"{name}_"):
        if hasattr(torch.Tensor, method):
            assert hasattr(lucid.Tensor, method), f"Tensor.{method} is missing"


@pytest.mark.parametrize("name", f"{METHODS} {PROPERTIES}".split())
def test_attribute_exists(name):
    assert hasattr(lucid.Tensor, name), f"Tensor.{name} is missing"


@pytest.mark.parametrize("name", f"{LUCID_FUNCTIONS} {TENSOR_TYPES}".split())
def test_name_of_lucid_exists(name):
    assert callable(getattr(lucid, name, None)), f"lucid.{name} is missing"


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in MODULES.items() for name in names.split()])
def test_name_in_module_exists(module, name):
    assert callable(getattr(getattr(lucid, module, None), name, None)), f"lucid.{module}.{name} is missing"


def _declared(torch: Any, name: str) -> list[tuple[list[str], int]]:
    """The parameters of each of PyTorch's declarations of a function, without those for named dimensions and results, and how
    many of them come by position.
    """
    if inspect.isfunction(getattr(torch, name, None)):
        return []  # written in Python, mostly with *args
    found = []
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}"):
        kinds = " ".join(str(argument.type) for argument in schema.arguments)
        if "out" in schema.overload_name or "Dimname" in str(schema) or "SymInt" in kinds or "Stream" in kinds:
            continue
        arguments = [argument for argument in schema.arguments if argument.name not in IGNORED]
        found.append((["input" if argument.name == "self" else argument.name for argument in arguments],
                      sum(not argument.kwarg_only for argument in arguments)))
    return found


@pytest.mark.torch
@pytest.mark.parametrize(("family", "name"), NAMES)
def test_parameters_are_those_of_pytorch(family, name):
    torch = pytest.importorskip("torch")
    parameters = inspect.signature(getattr(lucid, name)).parameters
    if any(p.kind is p.VAR_POSITIONAL for p in parameters.values()):
        return  # such as zeros(2, 3)
    ours = [p.name for p in parameters.values()]
    for declared, positional in _declared(torch, name):
        theirs = [p for p in declared if p in ours]
        # A declaration of which lucid knows only a part is an overload for internal use, or lucid lacks a parameter.
        assert theirs == declared or not set(declared) <= set(_documented(torch, name)), f"{name}{declared} against {ours}"
        # Those that lucid takes by keyword only are other names of one that it has.
        ordered = [p for p in declared[:positional] if p in ours and parameters[p].kind is not inspect.Parameter.KEYWORD_ONLY]
        assert sorted(ordered, key=ours.index) == ordered, f"{name}: the order of {declared} against {ours}"


def _documented(torch: Any, name: str) -> list[str]:
    """The words of the signature in the first lines of PyTorch's docstring."""
    text = (getattr(torch, name).__doc__ or "").strip().split("->")[0]
    for mark in "(),=*:":
        text = text.replace(mark, " ")
    return text.split()
