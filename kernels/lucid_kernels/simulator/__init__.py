"""CUDA kernels on a machine without a GPU.

The `.cu` files are compiled by g++ and run on the CPU, one fiber per CUDA thread, with a check at every access to memory.
`install` puts a strict stand-in in the place of the `cupy` module, so that a whole GPU code path runs, and a silent mix-up
of host and device arrays is an error.

    from lucid_kernels import simulator

    simulator.install()
    import cupy

    with simulator.schedule(simulator.Schedule("reverse")):
        cupy.RawKernel(code, "saxpy")((1,), (128,), (x, y, np.float32(2), np.int32(100)))

`installation`: puts the stand-in in the place of CuPy.
`cupy_stand_in`: the stand-in.
`cupy_names`: whether it or an installed CuPy answers to CuPy's names.
`source`: from CUDA text to C++.
`build`, `cache`: builds kernels with g++, and keeps them.
`runtime`: the C++ runtime: who accessed a word last and what happened before what.
`module`: kernels and their launches.
`scheduling`: the order of threads and blocks.
`guard`: device memory between inaccessible pages.
`symbols`: the shared variables of a built library.
`errors`: the exceptions.
`nvrtc`: what a kernel takes of a chip.
`mutation`, `mutants`: declared bugs, and bugs planted wherever a kernel has a place for them.

A source can check for the simulator with ``#ifdef LUCID_SIMULATOR``. What it must not use: inline PTX without such a
branch, cooperative groups, `<cuda/std/...>`, CUB, textures, grid-wide waiting.

What is reported, as `SimulatorError` with file, line, block and thread (tests/kernels/simulator/test_checks.py has the test
of each line, unless it says otherwise):

races: two accesses that nothing orders, at least one a write, not both atomic
    in shared memory: a missing `__syncthreads`          TestRaces.test_a_missing_barrier, ..._in_a_double_buffer
    a missing `__syncwarp`, one of too few lanes, a shuffle or vote in its place
                                                         TestRaces.test_lanes_without_a_barrier_of_the_warp
    sums and counters without atomics, within a block    TestRaces.test_a_counter_in_shared_memory, test_a_sum_in_global_memory
    and between blocks             TestRaces.test_a_sum_of_blocks, test_a_block_that_reads_what_another_writes
    an atomic and a plain access                         TestRaces.test_an_atomic_and_a_plain_access
    single bytes                                         TestRaces.test_single_bytes
    "the last block" without `__threadfence`             TestRaces.test_the_last_block_needs_a_fence
    cp.async: others read before the wait                TestRaces.test_a_copy_that_others_read_before_it_is_awaited
uninitialized: a value that was never written is used in a branch, an address or what is stored in a device array
    shared memory, through fmaxf; of templates           TestUninitialised.test_shared_memory_through_a_maximum, ..._of_a_template
    fresh device memory (`cupy.empty`)                   TestUninitialised.test_global_memory_through_a_maximum
    a branch, an address                                 TestUninitialised.test_a_branch_and_an_address
bounds: any access outside of the array, shared variable or dynamic shared memory
    in front of an array, behind it, 20 KB away          TestBounds.test_around_an_array, test_a_copy_of_many_bytes
    past a shared variable, through a pointer too        TestBounds.test_a_shared_array_through_a_pointer
    past the dynamic shared memory                       TestBounds.test_dynamic_shared_memory
    more than 48 KB of static shared memory              TestBounds.test_static_shared_memory_over_the_limit
alignment: a float4 at an address of 4 bytes             TestBounds.test_a_misaligned_vector
barriers
    threads that leave early or loop longer              TestBarriers.test_threads_that_leave_early, test_threads_that_loop_longer
    different barriers, deadlocks, lanes that are not active or not in their mask    test_module.py: TestBugs.test_divergence
    copies that are never awaited        test_module.py: TestBugs.test_copies_that_are_not_awaited
always: division by zero, shifts and indices out of range of a declared array, endless kernels and recursion, launches
    over a device's limits, arguments of the wrong type  test_module.py

What orders accesses: barriers of the block, named barriers, `__syncwarp` for the lanes in its mask, and a fence before an
atomic or volatile write that the other thread then reads (atomically or volatile). Writes of the same value are no race.
Volatile accesses count as atomic, except between lanes of one warp in shared memory. Right kernels pass: TestRight.

What is not seen:
- a fault on a path that the launch did not take: checks look at one run, in one order of threads;
- an access past one array that lands inside another (zones of 1 MB lie between them), or outside of a view but inside its array;
- a single byte or half that is undefined while another of its aligned four is not; undefined values that change nothing under
  four contents, or only what is stored in shared memory and never used;
- that atomics or fences are of too small a scope (`_block`), except a fence for other blocks; reorderings of relaxed accesses;
- races in an array of more than 32 MB, and undefined values in a launch that writes one;
- races between launches on different streams, and what the host reads in one stream before another is done: all run at once;
- races within one mma operation; of a cp.async with its own thread before the wait (the late copy shows in the values, unless the
  schedule has `eager_copies`);
- what tensor cores drop of terms far below the largest one: they add without rounding and round the sum towards zero, which on
  attention of float gave the errors of an H100 to a third;
- timing, bank conflicts, fast-math differences, wgmma, TMA, mbarrier and clusters.

Variables, read at import: LUCID_SIMULATOR_CHECKS (`all`, `none`, or some of races,uninitialized,bounds,alignment,barriers;
with none of the first four, kernels are built without the calls that look at accesses), LUCID_SIMULATOR_CACHE (folder of
built kernels), LUCID_SIMULATOR_DEBUG=0 (no source lines, no checks by the compiler), LUCID_SIMULATOR_GUARD=0 (no zones
around arrays and no check of bounds), LUCID_SIMULATOR_CHECK_API=0 (no comparison with an installed CuPy),
LUCID_SIMULATOR_TIME_LIMIT (seconds per launch), LUCID_SIMULATOR_COMPUTE_CAPABILITY (what the device says it is), CXX,
CUDA_PATH.
"""

from __future__ import annotations

from .build import available
from .errors import CompileError, ResourceError, SimulatorError
from .installation import install, installed, uninstall
from .scheduling import SCHEDULES, Schedule, schedule

__all__ = [
    "SCHEDULES",
    "CompileError",
    "ResourceError",
    "Schedule",
    "SimulatorError",
    "available",
    "install",
    "installed",
    "schedule",
    "uninstall",
]
