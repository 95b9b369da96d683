"""The thresholds by which functions are chosen stand in two tables, not beside the functions."""
from __future__ import annotations

import ast
import pathlib
from collections.abc import Iterator

from lucid_kernels.cpu.runtime import tuning

from lucid.backends import sizes

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROOMS = (ROOT / "kernels/lucid_kernels/cpu", ROOT / "lucid/backends")
TABLES = (pathlib.Path(str(tuning.__file__)), pathlib.Path(str(sizes.__file__)))
# What else is written as a power of two, and why it stands with its function.
TASKS = "how work is cut into tasks and into pieces that stay in a cache: part of a kernel's layout"
FORMAT = "a number's or a record's format"
COMPILED = "where compiled code prefetches or changes its loop: part of a kernel"
SYSTEM = "what the allocator and malloc keep, and what a processor's cache has where it does not say so"
ROW = "part of the operation's row, where everything stands that is known of it"
ELSEWHERE = {
    TASKS: """arrays/layout.GRAIN arrays/strided_copy.CHUNK arrays/strided_copy._ELEMENTS attention/decode._LEAST
        convolution/direct/few_outputs._COPIES_BYTES convolution/direct/forward._COPIES_BYTES convolution/direct/forward._SUMS_BYTES
        convolution/direct/forward._WEIGHT_BYTES convolution/direct/forward._TASK_PRODUCTS
        convolution/direct/grad_input_strided._COPIES_BYTES convolution/direct/grad_input_strided._SUMS_BYTES
        convolution/direct/grad_input_strided._OWN_BYTES convolution/direct/grad_weight._PASS_BYTES
        convolution/direct/grad_weight._PARTS_BYTES convolution/direct/outer_grad_weight._IMAGE_BYTES
        convolution/direct/outer_grad_weight._SUMS_BYTES convolution/winograd/forward._TASK_BYTES
        convolution/winograd/forward._LARGE_WEIGHT_BYTES convolution/winograd/grad_weight._TILES_BYTES
        convolution/winograd/tiles._NEAR elementwise/ufunc_loops._GRAIN fft/fft._SHARE indexing/index_select._CHUNK
        indexing/searchsorted._EACH linalg/batched_elimination._SHARE linalg/lapack_calls._SHARE linalg/small_decompositions._SHARE
        matmul/batched_small._SHARE matmul/dot._PIECE matmul/openblas_tiles._TASK matmul/panel_microkernels.EACH_STEP
        matmul/prepacked._SHARE matmul/skinny._SHARE recurrent/sequence._SHARE recurrent/sequence._PATIENCE
        reduction/reduction._BLOCK reduction/reduction.PIECE cpu/convolution._WINDOW_BYTES gpu/convolution._WINDOW_BYTES""",
    FORMAT: """losses/ctc_loss._NEVER math/basic._EXPONENT_ONE32 math/basic._SHIFTED_BIAS32 cpu/sorting._NARROW
        runtime/thread_pool.AVAILABLE runtime/thread_pool._INSIDE runtime/thread_pool._OPEN runtime/thread_pool._LOOP
        runtime/threads.STARTED_THREADS""",
    COMPILED: """normalization/channel_loops._LONG normalization/channel_loops._HALF normalization/layer_norm.WIDEST
        normalization/layer_norm._LONGEST_OF_BLOCKS normalization/layer_norm._AHEAD simd/nontemporal._ROWS_AHEAD""",
    SYSTEM: """runtime/allocator.SMALLEST runtime/allocator._GRANULE runtime/allocator._HUGE_PAGE runtime/malloc.LARGEST_KEPT
        runtime/malloc.MOST_KEPT simd/nontemporal._USUAL_CACHE""",
    ROW: """elementwise/arithmetic._CHOICE elementwise/arithmetic._SLOW elementwise/arithmetic.ROWS elementwise/comparison._ASKED
        elementwise/unary._SIGN elementwise/unary._ROOT elementwise/unary.ROWS""",
}


def powers_of_two(room: pathlib.Path) -> Iterator[str]:
    """`module.name` of each constant of a module that is written with a shift."""
    for file in sorted(room.rglob("*.py")):
        if file in TABLES:
            continue
        module = file.relative_to(room).with_suffix("").as_posix()
        for node in ast.parse(file.read_text()).body:
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            pairs = [pair for target in targets for pair in (
                zip(target.elts, node.value.elts) if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                else [(target, node.value)])]
            for target, value in pairs:
                if any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.LShift) for part in ast.walk(value)):
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name):
                            yield f"{module}.{name.id}"


def test_thresholds_stand_in_the_tables() -> None:
    allowed = {name for names in ELSEWHERE.values() for name in names.split()}
    found = {name for room in ROOMS for name in powers_of_two(room)}
    assert not found - allowed, "thresholds stand in `tuning.py` of the kernels or in `sizes.py` of the dispatcher"
    assert not allowed - found, "these are gone"


def test_what_stands_in_both_tables_is_the_same() -> None:
    """The dispatcher's is imported where there may be no kernels."""
    of_kernels, of_dispatch = ({name: value for name, value in vars(table).items() if name.isupper()} for table in (tuning, sizes))
    both = of_kernels.keys() & of_dispatch.keys()
    assert both == {"COPY_BYTES", "COPY_ROWS_BYTES", "HALVES_CONVERTED_FROM"}
    assert all(of_kernels[name] == of_dispatch[name] for name in both)
