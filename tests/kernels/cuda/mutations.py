"""Planted bugs by families; the families' own tests must notice each of them.

`lucid_kernels/simulator/mutation.py` says what the files declare. Here is what several of them need.
"""
from __future__ import annotations

import functools
import importlib
import importlib.util
import pathlib
from typing import Any

from lucid_kernels.cuda.runtime import source
from lucid_kernels.simulator.mutation import Mutation


@functools.cache
def family(name: str) -> tuple[Any, Any, Any]:
    """The tests of a family, its launchers, and cupy."""
    launchers = source.path_of(f"{name}.py").relative_to(source.FOLDER).with_suffix("").parts
    path = pathlib.Path(__file__).parent.joinpath(*launchers[:-1], f"test_{name}.py")
    spec = importlib.util.spec_from_file_location(f"_mutation_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    tests = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tests)
    return tests, importlib.import_module(".".join(("lucid_kernels.cuda", *launchers))), importlib.import_module("cupy")


def reductions(file: str, check: Any) -> list[Mutation]:
    """Bugs in the reductions of common.cuh, as `file` uses them."""
    return [
        Mutation(file, "drop a barrier", r"__syncthreads\(\);", ";", check, inside="common.cuh"),
        Mutation(file, "skip a step", r"int offset = 16", "int offset = 8", check, inside="common.cuh"),
        Mutation(file, "half a warp", r"0xffffffffu", "0x0000ffffu", check, inside="common.cuh"),
    ]
