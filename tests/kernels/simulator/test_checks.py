"""What the simulator reports, one wrong kernel for each kind, by the line of the fault; and that it lets right ones pass."""

from __future__ import annotations

import functools
import os
import pathlib
import re
import subprocess
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from lucid_kernels import simulator
from lucid_kernels.simulator import scheduling

from . import wrong_and_right
from .conftest import NEEDS_COMPILER

pytestmark = NEEDS_COMPILER
INT = np.int32


@functools.cache
def _module(name: str) -> Any:
    from lucid_kernels.simulator import cupy_stand_in

    names = ("uninitialised_in_template<float>",) if name == "WRONG" else ()
    return cupy_stand_in.RawModule(code=getattr(wrong_and_right, name), name_expressions=names)


def run(source: str, kernel: str, grid: int, block: int, *arguments: Any, shared_mem: int = 0) -> None:
    _module(source).get_function(kernel)((grid,), (block,), arguments, shared_mem=shared_mem)


def fault_lines(source: str, kernel: str) -> str:
    """A regular expression for the places of the fault of a kernel."""
    lines = enumerate(getattr(wrong_and_right, source).splitlines(), 1)
    base = kernel.split("<")[0]
    return "|".join(
        rf"kernel\.cu:{number}\b"
        for number, line in lines
        if base in line.split("// FAULT")[-1].split() and "FAULT" in line
    )


def reported(kernel: str, message: str, grid: int, block: int, *arguments: Any, **options: Any) -> None:
    where = fault_lines("WRONG", kernel)
    assert where
    with pytest.raises(simulator.SimulatorError, match=message) as error:
        run("WRONG", kernel, grid, block, *arguments, **options)
    assert re.search(where, str(error.value)), (str(error.value), where)


def floats(cp: ModuleType, n: int) -> Any:
    return cp.arange(n, dtype=np.float32)


# ------------------------------------------------------------------------------------------------------------- races
@pytest.mark.usefixtures("each_schedule")
class TestRaces:
    @pytest.mark.parametrize(
        ("kernel", "array"), [("shift", "tile"), ("tree", "sums"), ("scan", "sums"), ("write_after_read", "tile")]
    )
    def test_a_missing_barrier(self, cp: ModuleType, kernel: str, array: str) -> None:
        reported(
            kernel,
            rf"race: .* of shared '{array}' .* thread \(\d+,0,0\) has",
            1,
            128,
            floats(cp, 128),
            cp.empty(128, np.float32),
        )

    def test_a_missing_barrier_in_a_double_buffer(self, cp: ModuleType) -> None:
        reported(
            "double_buffer", "race: .* shared 'tiles'", 1, 128, floats(cp, 1024), cp.empty(128, np.float32), INT(8)
        )

    @pytest.mark.parametrize("kernel", ["lanes", "half_of_the_lanes", "warp_synchronous", "shuffle_for_a_barrier"])
    def test_lanes_without_a_barrier_of_the_warp(self, cp: ModuleType, kernel: str) -> None:
        reported(kernel, "race: .* of shared", 1, 32, floats(cp, 64), cp.empty(32, np.float32))

    def test_a_counter_in_shared_memory(self, cp: ModuleType) -> None:
        reported("shared_counter", "race: .* of shared 'count'", 1, 64, cp.zeros(1, INT))

    def test_a_sum_in_global_memory(self, cp: ModuleType) -> None:
        reported("global_sum", "race: .* of argument 1 'sum'", 1, 64, floats(cp, 64) + 1, cp.zeros(1, np.float32))

    def test_a_sum_of_blocks(self, cp: ModuleType) -> None:
        reported(
            "sum_of_blocks",
            r"race: .* argument 1 'sum'.* of block \(",
            4,
            32,
            floats(cp, 4) + 1,
            cp.zeros(1, np.float32),
        )

    def test_an_atomic_and_a_plain_access(self, cp: ModuleType) -> None:
        reported("atomic_and_plain", "race: .* argument 0 'count'", 1, 64, cp.zeros(1, INT), cp.zeros(64, INT))

    def test_single_bytes(self, cp: ModuleType) -> None:
        reported("bytes", "race: writes offset .* argument 0 'y'", 1, 64, cp.zeros(64, np.uint8))

    def test_a_block_that_reads_what_another_writes(self, cp: ModuleType) -> None:
        reported("neighbours_of_blocks", "race: .* argument 0 'x'", 4, 1, floats(cp, 4))

    def test_the_last_block_needs_a_fence(self, cp: ModuleType) -> None:
        arguments = (cp.ones(8, INT), cp.zeros(8, INT), cp.zeros(1, np.uint32), cp.zeros(1, INT))
        reported("last_block_without_fence", "race: .* argument 1 'partial'", 8, 32, *arguments)

    def test_a_copy_that_others_read_before_it_is_awaited(self, cp: ModuleType) -> None:
        reported("early_copy", "race: .* shared 'tile'", 1, 64, cp.arange(256, dtype=INT).view(INT), cp.empty(64, INT))


# ----------------------------------------------------------------------------------------------------- uninitialised
@pytest.mark.usefixtures("each_schedule")
class TestUninitialised:
    def test_shared_memory_through_a_maximum(self, cp: ModuleType) -> None:
        message = "uninitialised memory: offset 2\\d\\d of shared 'tile'"
        reported("uninitialised_shared", message, 1, 64, floats(cp, 64), cp.empty(1, np.float32), INT(60))

    def test_global_memory_through_a_maximum(self, cp: ModuleType) -> None:
        x = cp.empty(8, np.float32)
        x[:5] = 1
        reported(
            "uninitialised_global",
            "uninitialised memory: offset 2\\d of argument 0 'x'",
            1,
            1,
            x,
            cp.empty(1, np.float32),
            INT(8),
        )
        run("WRONG", "uninitialised_global", 1, 1, x, cp.empty(1, np.float32), INT(5))

    @pytest.mark.parametrize("kernel", ["uninitialised_branch", "uninitialised_index"])
    def test_a_branch_and_an_address(self, cp: ModuleType, kernel: str) -> None:
        reported(
            kernel, "uninitialised memory: offset 0 of argument 0 'x'", 1, 1, cp.empty(1, INT), cp.zeros(2, np.float32)
        )

    def test_shared_memory_of_a_template(self, cp: ModuleType) -> None:
        reported(
            "uninitialised_in_template<float>", "uninitialised memory: .* shared 'value'", 1, 1, cp.empty(1, np.float32)
        )

    def test_what_is_left_behind_is_as_without_the_check(self, cp: ModuleType) -> None:
        x, y = floats(cp, 128), cp.empty(128, np.float32)
        run("RIGHT", "padded", 1, 128, x, y, INT(125))
        np.testing.assert_array_equal(y.get()[:125], np.arange(125))
        assert np.isnan(y.get()[125:]).all()


# ---------------------------------------------------------------------------------------------- bounds and alignment
class TestBounds:
    @pytest.mark.parametrize("i", [-1, -40, 16, 21, 5136, -5120])
    def test_around_an_array(self, cp: ModuleType, i: int) -> None:
        others = [floats(cp, 16) for _ in range(4)]
        bytes_away = -4 * i if i < 0 else 4 * (i - 16)
        side = "in front of" if i < 0 else "past the end of"
        message = rf"invalid memory access: {{}} 4 bytes at .*, {bytes_away} bytes {side} argument 0 'x' \(64 bytes\)"
        reported("write_at", message.format("writes"), 1, 1, floats(cp, 16), INT(i))
        reported("read_at", message.format("reads"), 1, 1, floats(cp, 16), cp.empty(1, np.float32), INT(i))
        del others

    def test_an_array_that_does_not_fill_its_last_16_bytes(self, cp: ModuleType) -> None:
        reported(
            "read_at", "0 bytes past the end of argument 0 'x'", 1, 1, floats(cp, 3), cp.empty(1, np.float32), INT(3)
        )

    def test_a_copy_of_many_bytes(self, cp: ModuleType) -> None:
        run("WRONG", "copy_too_much", 1, 1, floats(cp, 100), cp.empty(100, np.float32), INT(100))
        reported("copy_too_much", "reads 404 bytes", 1, 1, floats(cp, 100), cp.empty(101, np.float32), INT(101))

    def test_a_shared_array_through_a_pointer(self, cp: ModuleType) -> None:
        run("WRONG", "shared_overrun", 1, 1, cp.empty(1, np.float32), INT(20))
        reported("shared_overrun", "0 bytes past the end of shared 'first'", 1, 1, cp.empty(1, np.float32), INT(21))

    def test_dynamic_shared_memory(self, cp: ModuleType) -> None:
        reported(
            "dynamic_overrun",
            "past the 16 bytes of dynamic shared",
            1,
            1,
            cp.empty(1, np.float32),
            INT(4),
            shared_mem=16,
        )

    def test_static_shared_memory_over_the_limit(self, cp: ModuleType) -> None:
        where = fault_lines("TOO_MUCH_SHARED", "too_much")
        with pytest.raises(simulator.SimulatorError, match=rf"0x14000 bytes, 0xc000 max; 'tile' at ({where})"):
            cp.RawKernel(wrong_and_right.TOO_MUCH_SHARED, "too_much")

    def test_a_misaligned_vector(self, cp: ModuleType) -> None:
        run("WRONG", "misaligned", 1, 1, floats(cp, 16), cp.empty(1, np.float32), INT(4))
        reported(
            "misaligned", "misaligned access: reads 16 bytes", 1, 1, floats(cp, 16), cp.empty(1, np.float32), INT(1)
        )


# ---------------------------------------------------------------------------------------------------------- barriers
@pytest.mark.usefixtures("each_schedule")
class TestBarriers:
    def test_threads_that_leave_early(self, cp: ModuleType) -> None:
        reported(
            "leaves_early",
            "a different number of barriers: .* ended after 0",
            1,
            64,
            floats(cp, 64),
            cp.empty(64, np.float32),
            INT(40),
        )

    def test_threads_that_loop_longer(self, cp: ModuleType) -> None:
        reported(
            "loops_longer",
            "a different number of barriers: .* ended after 3, .* their number 4",
            1,
            64,
            cp.empty(64, np.float32),
        )


# ------------------------------------------------------------------------------------------------------ right kernels
@pytest.mark.usefixtures("each_schedule")
class TestRight:
    @pytest.mark.parametrize("kernel", ["tree", "shuffles"])
    def test_sums(self, cp: ModuleType, kernel: str) -> None:
        y = cp.empty(1, np.float32)
        run("RIGHT", kernel, 1, 128, floats(cp, 128), y)
        assert y.get()[0] == 127 * 64

    def test_scan(self, cp: ModuleType) -> None:
        y = cp.empty(128, np.float32)
        run("RIGHT", "scan", 1, 128, floats(cp, 128), y)
        np.testing.assert_array_equal(y.get(), np.cumsum(np.arange(128)))

    def test_double_buffer(self, cp: ModuleType) -> None:
        y = cp.empty(128, np.float32)
        run("RIGHT", "double_buffer", 1, 128, floats(cp, 1024), y, INT(8))
        np.testing.assert_array_equal(y.get(), np.arange(1024).reshape(8, 128).sum(0)[::-1])

    def test_last_block(self, cp: ModuleType) -> None:
        y = cp.empty(1, INT)
        run("RIGHT", "last_block", 8, 32, cp.arange(8, dtype=INT), cp.empty(8, INT), cp.zeros(1, np.uint32), y)
        assert y.get()[0] == 28

    def test_histogram(self, cp: ModuleType) -> None:
        x, y = cp.arange(1000).astype(np.uint8), cp.zeros(256, INT)
        run("RIGHT", "histogram", 3, 64, x, y, INT(1000))
        np.testing.assert_array_equal(y.get(), np.bincount(x.get(), minlength=256))

    @pytest.mark.parametrize("steps", [1, 2, 7])
    def test_asynchronous_pipeline(self, cp: ModuleType, steps: int) -> None:
        x, y = cp.arange(steps * 256, dtype=INT), cp.empty(64, INT)
        run("RIGHT", "pipeline", 1, 64, x, y, INT(steps))
        np.testing.assert_array_equal(y.get(), x.get().reshape(steps, 64, 4)[:, ::-1, 0].sum(0))

    def test_warp_synchronous(self, cp: ModuleType) -> None:
        y = cp.empty(1, np.float32)
        run("RIGHT", "warp_synchronous", 1, 32, floats(cp, 64), y)
        assert y.get()[0] == 63 * 32

    def test_halves_of_a_warp(self, cp: ModuleType) -> None:
        y = cp.empty(32, np.float32)
        run("RIGHT", "halves_of_a_warp", 1, 32, floats(cp, 32), y)
        np.testing.assert_array_equal(y.get(), np.arange(32) ^ 15)

    def test_named_barriers(self, cp: ModuleType) -> None:
        y = cp.empty(128, np.float32)
        run("RIGHT", "named_barriers", 1, 128, floats(cp, 128), y)
        np.testing.assert_array_equal(y.get(), np.arange(128).reshape(2, 64)[:, ::-1].ravel())

    def test_threads_that_write_the_same_value(self, cp: ModuleType) -> None:
        found = cp.zeros(1, INT)
        run("RIGHT", "same_value", 2, 64, cp.arange(64, dtype=INT), found)
        assert found.get()[0] == 1

    def test_a_flag_that_is_waited_for(self, cp: ModuleType) -> None:
        y = cp.empty(32, np.float32)
        run("RIGHT", "spin", 1, 64, floats(cp, 32), y)
        np.testing.assert_array_equal(y.get(), np.arange(32)[::-1])

    def test_single_bytes(self, cp: ModuleType) -> None:
        x, y = cp.arange(128).astype(np.uint8), cp.empty(128, np.uint8)
        run("RIGHT", "bytes", 1, 128, x, y, cp.empty(128, np.bool_))
        np.testing.assert_array_equal(y.get(), np.arange(128) + (np.arange(128)[::-1] > 3))

    def test_uninitialised_padding_that_is_dropped(self, cp: ModuleType) -> None:
        y = cp.empty(128, np.float32)
        run("RIGHT", "padded", 1, 128, floats(cp, 128), y, INT(125))
        np.testing.assert_array_equal(y.get()[:125], np.arange(125))

    def test_a_lock(self, cp: ModuleType) -> None:
        total = cp.zeros(1, np.float32)
        run("RIGHT", "lock", 5, 64, cp.zeros(1, INT), total, floats(cp, 5))
        assert total.get()[0] == 20

    def test_a_flag_in_device_memory(self, cp: ModuleType) -> None:
        y = cp.empty(1, np.float32)
        run("RIGHT", "flag_in_device_memory", 1, 64, cp.empty(1, np.float32), cp.zeros(1, INT), y)
        assert y.get()[0] == 5

    def test_a_queue_of_blocks(self, cp: ModuleType) -> None:
        y = cp.empty(320, INT)
        run("RIGHT", "queue", 3, 32, cp.zeros(1, INT), y, INT(10))
        np.testing.assert_array_equal(y.get(), np.arange(320) // 32)

    def test_structs_among_four_lanes(self, cp: ModuleType) -> None:
        x, y = floats(cp, 96), cp.empty(96, np.float32)
        run("RIGHT", "eighths_of_a_warp", 1, 32, x, y)
        np.testing.assert_array_equal(y.get().reshape(16, 2, 3), x.get().reshape(16, 2, 3)[:, ::-1, ::-1])

    def test_a_variable_of_the_module(self, cp: ModuleType) -> None:
        y, before = cp.empty(1, INT), cp.empty(1, INT)
        run("RIGHT", "module_variable", 1, 1, before)
        run("RIGHT", "module_variable", 1, 64, y)
        assert y.get()[0] == before.get()[0] + 64


# ----------------------------------------------------------------------------------------------------- what is checked
def test_the_names_of_checks() -> None:
    assert scheduling.parse_checks("none") == 0
    assert scheduling.parse_checks("bounds, races") == 3
    assert scheduling.parse_checks("all") == scheduling.parse_checks("bounds,races,uninitialized,barriers,alignment")
    with pytest.raises(ValueError, match="LUCID_SIMULATOR_CHECKS: rases: not one of bounds, races"):
        scheduling.parse_checks("rases")


@pytest.mark.parametrize("checks", ["bounds,uninitialized", "barriers", "none"])
def test_only_what_is_named_is_checked(cp: ModuleType, monkeypatch: pytest.MonkeyPatch, checks: str) -> None:
    monkeypatch.setattr(scheduling, "CHECKS", scheduling.parse_checks(checks))
    run("WRONG", "shift", 1, 128, floats(cp, 128), cp.empty(128, np.float32))
    run("WRONG", "misaligned", 1, 1, floats(cp, 16), cp.empty(1, np.float32), INT(1))


_OUTSIDE = """
import lucid
from lucid_kernels import simulator
simulator.install()
import cupy, numpy as np
kernel = cupy.RawKernel(open("shift.cu").read(), "shift")
try:
    kernel((1,), (64,), (cupy.arange(64, dtype=np.float32), cupy.empty(64, np.float32)))
except simulator.SimulatorError as error:
    print(error)
"""


def test_outside_of_the_repository(tmp_path: pathlib.Path) -> None:
    code = wrong_and_right.WRONG
    (tmp_path / "shift.cu").write_text(code[: code.index('extern "C" __global__ void tree')])
    path = os.pathsep.join(filter(None, [*sys.path[:2], os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "LUCID_GPU": "simulated", "PYTHONPATH": path}
    command = [sys.executable, "-c", _OUTSIDE]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "race: " in done.stdout and "kernel.cu:6" in done.stdout, done.stdout


def test_a_large_array_is_checked_for_bounds_alone(cp: ModuleType) -> None:
    x = cp.empty(9 << 20, np.float32)
    run("WRONG", "write_at", 1, 1, x, INT((9 << 20) - 1))
    run("WRONG", "sum_of_blocks", 2, 32, cp.zeros(2, np.float32), x)
    reported("write_at", "0 bytes past the end of argument 0 'x'", 1, 1, x, INT(9 << 20))
