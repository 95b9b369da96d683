"""Planting bugs, on a kernel family made for the purpose."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from lucid_kernels import simulator
from lucid_kernels.simulator import mutation
from lucid_kernels.simulator.mutation import Mutation, MutationError

from .conftest import NEEDS_COMPILER

SOURCE = """#line 1 "helpers.cuh"
__device__ float twice(float x) { return x + x; }
#line 2 "reverse.cu"
extern "C" __global__ void reverse(const float* x, float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = twice(x[threadIdx.x]);
  __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];
  __syncthreads();
}
"""


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch, cp: ModuleType) -> Iterator[Any]:
    """A stand-in for `lucid_kernels.cuda.launch` with one family, 'reverse'."""
    launch: Any = ModuleType("lucid_kernels.cuda.launch")
    launch.cupy = cp
    launch.source = lambda name: SOURCE
    launch.loaded = lambda: {("reverse", "reverse")}
    launch.reload = lambda: None
    launch.raise_pending = lambda: None
    launch.forget_pending = lambda: None
    import lucid_kernels.cuda

    monkeypatch.setitem(sys.modules, launch.__name__, launch)
    monkeypatch.setattr(lucid_kernels.cuda, "launch", launch, raising=False)

    def check() -> None:
        x, y = cp.arange(64, dtype=np.float32), cp.zeros(64, np.float32)
        cp.RawKernel(launch.source("reverse"), "reverse")((1,), (64,), (x, y))
        np.testing.assert_array_equal(y.get(), 2 * np.arange(64)[::-1])

    yield SimpleNamespace(launch=launch, check=check)


@NEEDS_COMPILER
def test_every_place_is_tried_alone(family: Any) -> None:
    barrier = Mutation("reverse.cu", "drop a barrier", r"__syncthreads\(\);", ";", family.check)
    first, second = mutation.run([barrier])
    assert first.label == "drop a barrier #1" and first.caught
    assert second.label == "drop a barrier #2" and not second.caught  # it does nothing in this kernel
    assert len(first.noticed) == len(simulator.SCHEDULES)
    assert family.launch.source("reverse") == SOURCE


@NEEDS_COMPILER
def test_a_header_is_mutated_on_request_only(family: Any) -> None:
    inside = Mutation("reverse.cu", "no doubling", r"x \+ x", "x", family.check, inside="helpers.cuh")
    assert [outcome.caught for outcome in mutation.run([inside])] == [True]
    with pytest.raises(MutationError, match=r"matches nowhere in reverse\.cu"):
        list(mutation.run([Mutation("reverse.cu", "no doubling", r"x \+ x", "x", family.check)]))


@NEEDS_COMPILER
@pytest.mark.parametrize(
    ("pattern", "replacement", "message"),
    [
        ("no such text", "", "matches nowhere"),
        (r"__syncthreads\(\);", "not_a_function();", "does not compile"),
        (r"(__syncthreads)", r"\1", "changes nothing"),
    ],
)
def test_wrong_mutations_are_errors(family: Any, pattern: str, replacement: str, message: str) -> None:
    wrong = Mutation("reverse.cu", "wrong", pattern, replacement, family.check)
    with pytest.raises(MutationError, match=message):
        list(mutation.run([wrong]))
    (outcome,) = mutation.run([wrong], keep_going=True)
    assert not outcome.caught and outcome.problem is not None


@NEEDS_COMPILER
def test_a_check_that_fails_by_itself_is_an_error(family: Any) -> None:
    def check() -> None:
        raise AssertionError

    with pytest.raises(MutationError, match="fails without the mutation"):
        list(mutation.run([Mutation("reverse.cu", "any", "twice", "twice", check)]))


def test_places_keeps_to_one_file() -> None:
    text = '#line 1 "a.cu"\nx\n#line 1 "b.cuh"\nx\n#line 2 "a.cu"\nx x\n'
    assert [match.start() for match in mutation.places(text, "a.cu", "x")] == [15, 50, 52]
    assert len(mutation.places(text, "b.cuh", "x")) == 1


def test_collect_reads_the_declarations(tmp_path: pathlib.Path) -> None:
    for part, family in (("a", "softmax"), ("b", "pool2d")):
        (tmp_path / f"mutations_{part}.py").write_text(
            "from lucid_kernels.simulator.mutation import Mutation\n"
            f"MUTATIONS = [Mutation('{family}.cu', 'label', 'x', 'y', print)]\n"
        )
    assert [found.file for found in mutation.collect(tmp_path)] == ["softmax.cu", "pool2d.cu"]
    assert [found.file for found in mutation.collect(tmp_path, ["pool2d"])] == ["pool2d.cu"]
