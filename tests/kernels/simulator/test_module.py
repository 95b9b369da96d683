"""CUDA's semantics on the simulator, and that each class of bug is reported."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.simulator import SCHEDULES, CompileError, Schedule, SimulatorError, build, schedule, scheduling
from lucid_kernels.simulator.guard import empty, guarded
from lucid_kernels.simulator.module import Module

from . import kernels_of_tests
from .conftest import NEEDS_COMPILER

pytestmark = NEEDS_COMPILER
INT = np.int32


@functools.cache
def module(name: str) -> Module:
    instances = ["scaled<float, 3>", "scaled<double, 5>"] if name == "SEMANTICS" else []
    return Module(getattr(kernels_of_tests, name), instances)


def run(name: str, grid: int, block: int, *arguments: Any, source: str = "SEMANTICS", shared_mem: int = 0) -> None:
    module(source).get_function(name)((grid,), (block,), arguments, shared_mem)


def run_bug(name: str, grid: int, block: int, *arguments: Any, shared_mem: int = 0) -> None:
    run(name, grid, block, *arguments, source="BUGS", shared_mem=shared_mem)


# ------------------------------------------------------------------------------------------------------- semantics
@pytest.mark.usefixtures("each_schedule")
class TestSemantics:
    def test_shuffles(self) -> None:
        out = np.zeros((32, 8), INT)
        run("shuffles", 1, 32, out)
        t = np.arange(32)
        v = 100 + t
        ballot = INT(np.uint32(sum(1 << lane for lane in range(0, 32, 3))).view(INT))
        expected = [
            np.full(32, 103),
            100 + (t & ~7) + 1,
            np.where(t - 2 < (t & ~15), v, v - 2),
            np.where(t + 5 > 31, v, v + 5),
            100 + (t ^ 9),
            np.full(32, ballot),
            np.full(32, v.sum()),
            np.full(32, 16),
        ]
        np.testing.assert_array_equal(out, np.stack(expected, 1))

    @pytest.mark.parametrize("limit", [5, 64])
    def test_votes(self, limit: int) -> None:
        out = np.zeros((32, 4), INT)
        run("votes", 1, 32, out, INT(limit))
        assert (out == [limit < 32, limit >= 32, limit < 32, limit >= 32]).all()

    def test_groups_of_a_warp_in_different_code(self) -> None:
        out = np.zeros(32, INT)
        run("half_warps", 1, 32, out)
        assert (out[:16] == 120).all() and (out[16:] == 31).all()

    def test_threads_that_have_ended_do_not_block(self) -> None:
        out = np.zeros(64, INT)
        with schedule(dataclasses.replace(scheduling.current_schedule(), strict=False)):
            run("early_exit", 1, 64, out)
        assert out.sum() == 40

    def test_last_block(self) -> None:
        x, out = np.arange(1000, dtype=INT), np.zeros(1, INT)
        run("last_block", 5, 32, x, np.zeros(5, INT), np.zeros(1, np.uint32), out, INT(1000))
        assert out[0] == x.sum()

    def test_words_that_become_bytes_leave_no_trace_in_other_arrays(self) -> None:
        out = np.zeros(1024, INT)
        run("words_then_bytes", 2, 64, out)
        np.testing.assert_array_equal(out, [63, *range(1, 1024)])

    def test_named_barriers(self) -> None:
        out = np.zeros(7, INT)
        run("producer_consumer", 1, 64, out, INT(7))
        assert out.tolist() == [i * i for i in range(7)]

    def test_atomics(self) -> None:
        x = np.zeros(6, INT)
        run("atomics", 3, 32, x)
        assert x.tolist() == [96, -192, 31, -31, 255, 7]

    def test_template_instances(self) -> None:
        for name, dtype, factor in (("scaled<float, 3>", np.float32, 3), ("scaled<double, 5>", np.float64, 5)):
            x = np.arange(32, dtype=dtype)
            run(name, 1, 32, x)
            np.testing.assert_array_equal(x, np.arange(32) * factor)

    @pytest.mark.parametrize(("name", "dtype"), [("tile", ml_dtypes.bfloat16), ("tile_float16", np.float16)])
    def test_tensor_core(self, name: str, dtype: type) -> None:
        rng = np.random.default_rng(0)
        a = rng.standard_normal((16, 16)).astype(dtype)
        b = rng.standard_normal((16, 8)).astype(dtype)
        c = np.empty((16, 8), np.float32)
        run(name, 1, 32, a, b, c, source="TENSOR_CORE")
        np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), atol=1e-4)

    def test_tensor_core_of_tf32(self) -> None:
        rng = np.random.default_rng(0)
        a, b = rng.standard_normal((16, 8), dtype=np.float32), rng.standard_normal((8, 8), dtype=np.float32)
        c = np.empty((16, 8), np.float32)
        run("tile_tf32", 1, 32, a, b, c, source="TENSOR_CORE")

        def rounded(x: np.ndarray) -> np.ndarray:
            return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)

        np.testing.assert_allclose(c, rounded(a) @ rounded(b), atol=1e-6)
        assert np.abs(c - a @ b).max() > 1e-5
        exact = rounded(a).astype(np.float64) @ rounded(b).astype(np.float64)
        assert (np.abs(c) <= np.abs(exact)).all()  # sums are rounded towards zero
        assert (np.abs(exact) - np.abs(c) < np.spacing(np.abs(c))).all()

    @pytest.mark.parametrize("present", [0, 4, 12, 16])
    def test_copies_are_filled_with_zeros(self, present: int) -> None:
        x, out = np.arange(1, 129, dtype=INT), np.zeros((32, 4), INT)
        run("filled_copy", 1, 32, x, out, INT(present), source="TENSOR_CORE")
        expected = x.reshape(32, 4).copy()
        expected[:, present // 4 :] = 0
        np.testing.assert_array_equal(out, expected)

    def test_awaited_copies_arrive(self) -> None:
        x, out = np.arange(128, dtype=INT), np.zeros(32, INT)
        run_bug("awaited_copy", 1, 32, x, out)
        np.testing.assert_array_equal(out, x[::4])


def test_arithmetic() -> None:
    out = np.zeros(7)
    a, b = 1 + 2.0**-30, 1 - 2.0**-29
    run("arithmetic", 1, 1, out, np.float64(a), np.float64(b), np.uint64(2**63))
    from fractions import Fraction

    error = Fraction(a) * Fraction(b) - Fraction(a * b)
    assert out.tolist() == [a * b, float(error), 2.0**62, a, 8 + 31 + 4 + 1, np.inf, 1 / a]


# ------------------------------------------------------------------------------------------------------------ bugs
@pytest.mark.usefixtures("each_schedule")
class TestBugs:
    @pytest.mark.parametrize(
        ("name", "block", "message"),
        [
            ("divergent", 64, "different __syncthreads"),
            ("stuck", 32, "deadlock"),
            ("different_warp_ops", 32, "different warp ops"),
            ("inactive_lane", 32, "not active"),
            ("not_in_mask", 32, "not in its mask"),
        ],
    )
    def test_divergence(self, name: str, block: int, message: str) -> None:
        with pytest.raises(SimulatorError, match=message):
            run_bug(name, 1, block, np.zeros(64, INT))

    def test_a_fault_is_located(self) -> None:
        lines = kernels_of_tests.BUGS.splitlines()
        line = next(number for number, text in enumerate(lines, 1) if " overrun(" in text)
        where = rf"kernel overrun block \(0,0,0\) thread \(0,0,0\): invalid memory access.* at kernel\.cu:{line}"
        with pytest.raises(SimulatorError, match=where if build.DEBUG else "invalid memory access"):
            run_bug("overrun", 1, 1, guarded(np.zeros(4, INT)), INT(4))

    def test_a_write_before_the_end_of_the_page(self, monkeypatch: pytest.MonkeyPatch) -> None:
        x = guarded(np.zeros(3, INT))
        with pytest.raises(SimulatorError, match="writes 4 bytes at .*, 0 bytes past the end of argument 0 'out'"):
            run_bug("overrun", 1, 1, x, INT(3))
        monkeypatch.setattr(scheduling, "CHECKS", 0)
        with pytest.raises(SimulatorError, match="just past a device array of 12 bytes"):
            run_bug("overrun", 1, 1, x, INT(3))

    def test_bounds_of_shared_memory(self) -> None:
        with pytest.raises(SimulatorError, match="bounds/UB check"):
            run_bug("shared_bounds", 1, 1, np.zeros(1, INT), INT(8))
        with pytest.raises(SimulatorError, match="past the 16 bytes of dynamic shared memory"):
            run_bug("dynamic_shared", 1, 1, np.zeros(1, np.float32), INT(5), shared_mem=16)
        run_bug("dynamic_shared", 1, 1, np.zeros(1, np.float32), INT(3), shared_mem=16)  # it goes on working

    def test_stack_overflow_and_division_by_zero(self) -> None:
        with pytest.raises(SimulatorError, match="invalid memory access"):
            run_bug("stack_overflow", 1, 1, np.zeros(1, INT), INT(200))
        with pytest.raises(SimulatorError, match=r"division by zero|bounds/UB check"):
            run_bug("division", 1, 1, np.zeros(1, INT), INT(0))

    def test_uninitialised_shared_memory_is_nan(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(scheduling, "CHECKS", 0)
        out = np.zeros(1, np.float32)
        run_bug("uninitialised", 1, 1, out)
        assert np.isnan(out[0])

    def test_blocks_that_write_one_element(self) -> None:
        with pytest.raises(SimulatorError, match=r"race: writes offset 0 of argument 0 'out' .* of block \("):
            run_bug("blocks_race", 2, 1, np.zeros(1, INT))
        out = np.zeros(1, INT)
        run_bug("blocks_add", 4, 1, out)
        assert out[0] == 4

    def test_copies_that_are_not_awaited(self) -> None:
        with pytest.raises(SimulatorError, match=r"thread ends with 1 cp\.async copies never waited for"):
            run_bug("forgotten_copy", 1, 32, np.arange(128, dtype=INT), np.zeros(32, INT))


def test_a_missing_barrier_is_seen_under_some_schedule_without_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "CHECKS", 0)
    x = np.arange(64, dtype=INT)
    wrong = []
    for chosen in SCHEDULES:
        out = np.zeros(64, INT)
        with schedule(chosen):
            run_bug("missing_barrier", 1, 64, x, out)
        wrong.append(not np.array_equal(out, x[::-1]))
    assert any(wrong)


def test_a_kernel_that_never_ends_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "TIME_LIMIT", 0.2)
    with pytest.raises(SimulatorError, match=r"still running after 0\.2 seconds"):
        run_bug("endless", 1, 1, np.zeros(1, INT))


def test_strict_off_lets_a_shuffle_read_an_inactive_lane() -> None:
    out = np.zeros(32, INT)
    with schedule(Schedule(strict=False)):
        run_bug("inactive_lane", 1, 32, out)
    assert out.sum() == 16


# ------------------------------------------------------------------------------------------------------- arguments
def test_signature_and_typed_arguments() -> None:
    assert module("SEMANTICS").get_function("types").signature == ["f4", "f8", "i4", "u1", "b1", "*cf8", "*mi8"]
    out = np.zeros(1, np.int64)
    run("types", 1, 1, np.float32(1), np.float64(2), INT(3), np.uint8(4), np.bool_(True), np.zeros(1), out)
    assert out[0] == 11


@pytest.mark.parametrize(
    ("position", "value", "message"),
    [
        (0, 1.0, "explicitly typed scalar for f4"),
        (1, np.float32(2), "wants f8, got float32"),
        (2, np.int64(3), "wants i4, got int64"),
        (5, np.zeros(1, np.float32), "pointer to f8, array is float32"),
        (5, 0, "wants a pointer"),
        (6, np.broadcast_to(np.zeros(1, np.int64), 1), "read-only"),
        (2, np.zeros(1, INT), "wants scalar i4, got an array"),
    ],
)
def test_wrong_arguments_are_refused(position: int, value: Any, message: str) -> None:
    arguments = [np.float32(1), np.float64(2), INT(3), np.uint8(4), np.bool_(True), np.zeros(1), np.zeros(1, np.int64)]
    arguments[position] = value
    with pytest.raises(TypeError, match=message):
        run("types", 1, 1, *arguments)


def test_a_wrong_number_of_arguments_is_refused() -> None:
    with pytest.raises(TypeError, match="takes 7 arguments, got 1"):
        run("types", 1, 1, np.float32(1))


@pytest.mark.parametrize(("grid", "block"), [((1,), (1025,)), ((1, 65536), (1,)), ((0,), (1,)), ((1,), (1, 1, 65))])
def test_launch_limits(grid: tuple[int, ...], block: tuple[int, ...]) -> None:
    with pytest.raises(SimulatorError, match=r"bad (grid|block)"):
        module("BUGS").get_function("uninitialised")(grid, block, (empty(1),))


def test_a_compiler_error_names_file_and_line() -> None:
    with pytest.raises(CompileError, match=r"bad\.cu:2"):
        Module('extern "C" __global__ void k(int* x) {\n  y = 1;\n}\n', filename="bad.cu")


def test_definitions_reach_the_compiler() -> None:
    code = 'extern "C" __global__ void k(int* x) { x[0] = VALUE; }'
    x = np.zeros(1, INT)
    Module(code, options=("-DVALUE=42", "-std=c++17")).get_function("k")((1,), (1,), (x,))
    assert x[0] == 42


def test_builds_are_cached(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUCID_SIMULATOR_CACHE", str(tmp_path))
    code = 'extern "C" __global__ void k(int* x) { x[0] = 1; }'
    first = Module(code).path
    stamp = first.stat().st_mtime_ns
    assert first.parent == tmp_path
    assert Module(code).path == first and first.stat().st_mtime_ns == stamp
    assert [path.suffix for path in tmp_path.iterdir()] == [".so"]


def test_guarded_arrays_outlive_their_buffer() -> None:
    x = guarded(np.arange(10.0))
    part = x[2:5]
    del x
    np.testing.assert_array_equal(part, [2, 3, 4])
    assert np.isnan(empty((3,))).all() and empty((0, 3)).shape == (0, 3)
