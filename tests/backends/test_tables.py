"""Both tables of the dispatcher offer the same names with the same arguments."""
from __future__ import annotations

import importlib
import inspect
import pathlib
import re
import types
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from lucid.backends import families
from lucid.backends.cpu import backend as cpu
from lucid.backends.cpu import elementwise
from lucid.backends.elementwise import ROWS
from lucid.backends.gpu_probe import gpu_problem

README = pathlib.Path(__file__).resolve().parents[2] / "kernels" / "README.md"
FAMILY_OF = {name: family for family, names in families.FAMILIES.items() for name in names.split()}


@pytest.fixture(scope="module")
def gpu() -> types.ModuleType:
    """The GPU backend, on the simulator where there is no GPU."""
    problem = gpu_problem()
    if problem is not None:
        pytest.skip(problem)
    return importlib.import_module("lucid.backends.gpu.backend")


def parameters(function: Callable[..., Any]) -> list[tuple[str, str]]:
    """Names and kinds of the arguments."""
    return [(p.name, p.kind.name) for p in inspect.signature(function).parameters.values()]


def required(function: Callable[..., Any]) -> set[str]:
    """The arguments without a default."""
    return {p.name for p in inspect.signature(function).parameters.values()
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


def kernel(side: str, name: str) -> Callable[..., Any]:
    """Our kernel `name` of lucid_kernels.cpu or lucid_kernels.cuda."""
    function: Callable[..., Any] = getattr(importlib.import_module(f"lucid_kernels.{side}.{FAMILY_OF[name]}"), name)
    return function


def test_the_files_that_the_page_names_are_there() -> None:
    folders = [README.parent, README.parent / "lucid_kernels", README.parents[1]]
    named = re.findall(r"`(\w+(?:/\w+)*/\w+\.(?:py|cu|json))`", README.read_text())
    assert len(named) > 10
    assert not [name for name in named if not any((folder / name).exists() for folder in folders)]


def own(table: dict[str, Any]) -> set[str]:
    """The operations that are lucid's, not those that other tests have added."""
    return {name for name, function in table.items() if not (getattr(function, "__module__", "") or "").startswith("lucid.extension")}


def test_same_names(gpu: types.ModuleType) -> None:
    # Of any optimizer; on a CPU all but two are composed of operations. The gradients of a convolution share nothing there.
    on_gpu_alone = {"multi_tensor_step", "conv2d_grad"}
    assert own(cpu.TABLE) | on_gpu_alone == own(gpu.TABLE)


@pytest.mark.parametrize("name", sorted(FAMILY_OF))
def test_kernels_have_the_same_arguments(gpu: types.ModuleType, name: str) -> None:
    on_cpu, on_gpu = kernel("cpu", name), kernel("cuda", name)
    assert parameters(on_cpu) == parameters(on_gpu)
    assert required(on_cpu) == required(on_gpu)
    assert ("out" in inspect.signature(on_cpu).parameters) == (
        not name.startswith("check_") and not name.startswith("multi_tensor_"))  # which have no result


def test_other_functions_have_the_same_arguments(gpu: types.ModuleType) -> None:
    compared = 0
    alone = {name for names in families.OF_GPU.values() for name in names.split()}  # kernels on a GPU, made when they are called
    for name in own(cpu.TABLE) - set(FAMILY_OF) - set(ROWS) - alone:  # a row says the arguments once for both sides
        ours = [table[name] for table in (cpu.TABLE, gpu.TABLE)]
        if all(isinstance(function, types.FunctionType) and function.__module__.startswith("lucid.") for function in ours):
            assert parameters(ours[0]) == parameters(ours[1]), name
            compared += 1
    assert compared > 30


def test_arithmetic_kernels_exist_on_both_sides(gpu: types.ModuleType) -> None:
    for name in ("add", "sub", "mul", "div"):
        pair = [getattr(importlib.import_module(f"lucid_kernels.{side}.elementwise.elementwise"), name) for side in ("cpu", "cuda")]
        assert parameters(pair[0]) == parameters(pair[1])


def test_an_entry_replaces_itself_by_its_kernel() -> None:
    table: dict[str, Callable[..., Any]] = {}
    table |= elementwise.table(table)
    families.kernels("lucid_kernels.cpu", table)
    x = numpy.ones((3, 3), "f4")
    for name, attributes in (("relu", {}), ("softmax", {"dim": 1})):
        first = table[name]
        first(x, **attributes)
        assert table[name] is not first and table[name].__name__ == name
