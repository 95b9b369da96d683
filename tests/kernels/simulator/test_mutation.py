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
from lucid_kernels.simulator import mutants, mutation
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
    """A stand-in for `lucid_kernels.cuda.runtime.launch` with one family, 'reverse'."""
    launch: Any = ModuleType("lucid_kernels.cuda.runtime.launch")
    launch.cupy = cp
    launch.source = lambda name: SOURCE
    launch.loaded = lambda: {("reverse", "reverse")}
    launch.reload = lambda: None
    launch.raise_pending = lambda: None
    launch.forget_pending = lambda: None
    import lucid_kernels.cuda.runtime

    monkeypatch.setitem(sys.modules, launch.__name__, launch)
    monkeypatch.setattr(lucid_kernels.cuda.runtime, "launch", launch, raising=False)

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


@NEEDS_COMPILER
def test_a_check_that_is_skipped_is_an_error(family: Any) -> None:
    def check() -> None:
        pytest.skip("a library is missing")

    with pytest.raises(MutationError, match="skipped: a library is missing"):
        list(mutation.run([Mutation("reverse.cu", "any", "twice", "twice", check)]))


def test_places_keeps_to_one_file() -> None:
    text = '#line 1 "a.cu"\nx\n#line 1 "b.cuh"\nx\n#line 2 "a.cu"\nx x\n'
    assert [match.start() for match in mutation.sites(text, "a.cu", "x")] == [15, 50, 52]
    assert len(mutation.sites(text, "b.cuh", "x")) == 1


def test_collect_reads_the_declarations(tmp_path: pathlib.Path) -> None:
    for part, family in (("a", "softmax"), ("b", "pool2d")):
        (tmp_path / f"mutations_{part}.py").write_text(
            "from lucid_kernels.simulator.mutation import Mutation\n"
            f"MUTATIONS = [Mutation('{family}.cu', 'label', 'x', 'y', print)]\n"
        )
    assert [found.file for found in mutation.collect(tmp_path)] == ["softmax.cu", "pool2d.cu"]
    assert [found.file for found in mutation.collect(tmp_path, ["pool2d"])] == ["pool2d.cu"]


# ----------------------------------------------------------------------------------------------------- bugs of well-known kinds
PLACES = """#line 1 "helpers.cuh"
template <class T> __device__ void put(T* to, T value) { to[threadIdx.x] = value; }
__device__ float unused(float* x) { __syncthreads(); return x[0]; }
#line 1 "places.cu"
// __syncthreads(); in a comment
template <class T> __global__ void __launch_bounds__(64)
places(const float* x, float* y, int* count, int n) {
  __shared__ float s[64];
  if (threadIdx.x >= n) return;
  put(s, x[threadIdx.x]);
  __syncthreads();
#ifdef LUCID_SIMULATOR
  __syncwarp();
#else
  asm volatile("bar.sync 0;");
#endif
  if (threadIdx.x < n && y) y[threadIdx.x] = s[63 - threadIdx.x];
  atomicAdd(count, f(1, 2));
}
"""


def bugs(kind: str) -> list[tuple[str, int, str]]:
    """Where bugs of a kind are planted, and the line with the bug."""
    found = []
    for mutant in mutants.find(PLACES, [kind]):
        planted = mutant.plant(PLACES)
        line = planted[planted.rfind("\n", 0, mutant.start) + 1 :].partition("\n")[0].strip()
        assert mutant.kernels == {"places"}
        found.append((mutant.file, mutant.line, line))
    return found


def test_places_of_bugs_are_found_in_the_text() -> None:
    assert bugs("barrier") == [("places.cu", 7, ";"), ("places.cu", 9, ";")]
    assert bugs("atomic") == [("places.cu", 14, "(*(count) += (f(1, 2)));")]
    assert [(file, line) for file, line, _ in bugs("shared")] == [("helpers.cuh", 1)]  # `to` is `s` of the kernel
    assert ("places.cu", 13, "if (threadIdx.x < n && y) y[threadIdx.x] = s[(63 - threadIdx.x) + 1];") in bugs("index")
    assert [line for _, line, _ in bugs("index")] == [1, 1, 6, 6, 13, 13, 13, 13]
    assert bugs("bounds") == [
        ("places.cu", 5, "if (false) return;"),
        ("places.cu", 13, "if (true) y[threadIdx.x] = s[63 - threadIdx.x];"),
    ]


def test_every_barrier_of_the_library_is_a_place() -> None:
    """The places come from the text: as many as a plain search finds, in kernels and in the headers that they reach."""
    from lucid_kernels.cuda.runtime import source

    for family in source.names():
        text = mutation.source_text(family)
        found = [mutant for mutant in mutants.find(text, ["barrier"]) if mutant.file == f"{family}.cu"]
        text = source.read(family)
        assert len(found) == sum(text.count(call) for call in ("__sync" + "threads();", "__syncwarp();", "__threadfence();"))


@NEEDS_COMPILER
def test_bugs_at_all_places_are_tried_with_the_checks_that_reach_them(
    family: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutation, "source_text", lambda name: SOURCE)
    declared = [Mutation("reverse.cu", "any", "x", "y", family.check), Mutation("other.cu", "any", "x", "y", print)]
    outcomes = {o.label: o for o in mutation.run_mutants("reverse", mutants.find(SOURCE), declared)}
    assert outcomes["reverse.cu:5 without __syncthreads()"].caught
    assert not outcomes["reverse.cu:7 without __syncthreads()"].caught  # it does nothing
    assert outcomes["reverse.cu:4 s[threadIdx.x] is not written"].caught
    assert all(outcome.caught for label, outcome in outcomes.items() if "[" in label)
    family.launch.loaded = lambda: {("reverse", "another_kernel")}
    monkeypatch.setattr(mutation, "_measured", {})
    (unreached, *_) = mutation.run_mutants("reverse", mutants.find(SOURCE, ["barrier"]), declared)
    assert not unreached.caught and unreached.noticed == ()


def test_exempt_places_are_passed_over() -> None:
    first, second = mutants.find(PLACES, ["barrier"])
    exempt = [mutation.Exempt("places.cu", "places.cu", "__syncwarp();", "the reason")]
    assert [mutation.is_exempt(mutant, "places", PLACES, exempt) for mutant in (first, second)] == [False, True]
    assert not mutation.is_exempt(second, "another", PLACES, exempt)
