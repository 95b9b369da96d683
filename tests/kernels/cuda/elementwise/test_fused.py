"""Generated CUDA kernels: their text, and that NVRTC compiles all operations."""
from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels import simulator
from lucid_kernels.cuda.runtime import formula, source
from lucid_kernels.expression import Node, Program
from lucid_kernels.simulator import nvrtc
from lucid_kernels.simulator.build import cuda_include_dirs

UNARY = """neg abs exp expm1 log log1p log2 log10 sqrt sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh
           erf erfc floor ceil trunc rint sigmoid normal_cdf gauss""".split()
BINARY = "add sub mul div maximum minimum power fmod arctan2".split()
COMPARISONS = "eq ne lt le gt ge".split()
REAL, INTEGER, BOOL = np.dtype(np.float32), np.dtype(np.int32), np.dtype(bool)


def every_operation(dtype: Any) -> Program:
    """One result for each."""
    x, y = (Node("input", dtype, (), place) for place in (0, 1))
    n = Node("cast", INTEGER, (Node("input", np.dtype(np.uint8), (), 2),))
    nodes = [Node(name, dtype, (x,)) for name in UNARY] + [Node(name, dtype, (x, y)) for name in BINARY]
    nodes += [Node(name, BOOL, (x, y)) for name in COMPARISONS]
    nodes += [Node(name, INTEGER, (n, n)) for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "mul", "maximum")]
    nodes += [Node("bitwise_invert", INTEGER, (n,)), Node("where", dtype, (nodes[-7], x, Node("constant", dtype, (), 2.0)))]
    return Program(nodes)


def test_the_text_does_not_contain_the_numbers() -> None:
    x = Node("input", REAL, (), 0)
    texts = {formula.source(Program([Node("mul", REAL, (x, Node("constant", REAL, (), value)))]), (REAL,), (REAL,)) for value in (2.5, 7.0)}
    (text,) = texts
    assert "const float v0 = (float)(ex0 * k0);" in text


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_operation_has_a_kernel(cp: Any, dtype: Any) -> None:
    from lucid_kernels.cpu.elementwise import fused as cpu
    from lucid_kernels.cuda.elementwise import fused as gpu

    program = every_operation(np.dtype(dtype))
    random = np.random.default_rng(0)
    x, y = random.uniform(0.1, 0.9, (2, 300)).astype(dtype)
    n = np.arange(300).astype(np.uint8)
    arguments = x, y, n
    with np.errstate(all="ignore"):
        expected = cpu.fused(*arguments, program=program)
    found = gpu.fused(*map(cp.asarray, arguments), program=program)
    for ours, wanted in zip(found, expected, strict=True):
        assert ours.dtype == wanted.dtype
        np.testing.assert_allclose(cp.asnumpy(ours), wanted, rtol=2e-6 if dtype == np.float32 else 1e-12, atol=1e-7)


@pytest.mark.parametrize(("operation", "half"), [("as_float16", np.float16), ("as_bfloat16", ml_dtypes.bfloat16)])
def test_rounding_to_half_precision(cp: Any, operation: str, half: Any) -> None:
    from lucid_kernels.cpu.elementwise import fused as cpu
    from lucid_kernels.cuda.elementwise import fused as gpu

    random = np.random.default_rng(0)
    x = (random.standard_normal(3001) * 2.0 ** random.integers(-30, 18, 3001)).astype(np.float32)
    x[:8] = 0.0, -0.0, np.inf, -np.inf, np.nan, 65519.9, 65520, 2.0**-25
    rounded = Node(operation, np.dtype(half), (Node("input", REAL, (), 0),))
    program = Program([Node("sub", REAL, (rounded, Node("constant", REAL, (), 0.5))), rounded])
    with np.errstate(all="ignore"):
        wanted = x.astype(half).astype(np.float32) - np.float32(0.5), x.astype(half)
    for found in (cpu.fused(x, program=program), map(cp.asnumpy, gpu.fused(cp.asarray(x), program=program))):
        for ours, expected in zip(found, wanted, strict=True):
            assert ours.dtype == expected.dtype
            np.testing.assert_array_equal(ours.astype(np.float32), expected.astype(np.float32))


def test_results_in_the_place_of_arguments(cp: Any) -> None:
    from lucid_kernels.cuda.elementwise import fused as gpu

    x, y = (cp.asarray(values) for values in np.random.default_rng(0).standard_normal((2, 1000)).astype(np.float32))
    a, b = (Node("input", REAL, (), place) for place in range(2))
    program = Program([Node("neg", REAL, (b,)), Node("add", REAL, (a, b))])
    expected = [array.get() for array in gpu.fused(x, y, program=program)]
    assert gpu.fused(x, y, program=program, out=(x, y))[0] is x
    np.testing.assert_array_equal(x.get(), expected[0])
    np.testing.assert_array_equal(y.get(), expected[1])


def test_nvrtc_compiles_every_operation() -> None:
    try:
        compiler = nvrtc.Nvrtc()
    except RuntimeError as error:
        pytest.skip(str(error))
    options = [*nvrtc.CUPY_OPTIONS, "--fmad=false", "-arch=sm_90", *[f"-I{folder}" for folder in cuda_include_dirs()]]
    for dtype in (np.float32, np.float64):
        program = every_operation(np.dtype(dtype))
        for stored in (np.dtype(dtype), np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)):
            part = program.part(tuple(range(0, len(program.nodes), 2)) if stored.itemsize > 2 else (0, 1, len(program.nodes) - 1))
            results = [stored if kind == dtype else kind for kind in part.output_dtypes]
            arguments = [(stored, None, np.dtype(np.uint8))[number] for number in part.inputs]
            text = formula.source(part, tuple(arguments), tuple(results))
            compiler.compile(source.inline_includes(text), "fused.cu", options, [])
    half, other = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)  # rounded to, and no array of the first one
    x = Node("as_bfloat16", other, (Node("as_float16", half, (Node("input", REAL, (), 0),)),))
    text = formula.source(Program([x]), (REAL,), (other,))
    compiler.compile(source.inline_includes(text), "fused.cu", options, [])


def check_a_broadcast_formula(cp: Any) -> None:
    """max(x, row) * column + sigmoid(one), with a NaN, on more elements than a block has threads."""
    from lucid_kernels.cuda.elementwise import fused as gpu

    x, row, column, one = (Node("input", REAL, (), place) for place in range(4))
    product = Node("mul", REAL, (Node("maximum", REAL, (x, row)), column))
    program = Program([Node("add", REAL, (product, Node("sigmoid", REAL, (one,))))])
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(shape, np.float32) for shape in ((7, 132), (132,), (7, 1), ())]
    arrays[0][2, 3] = np.nan
    found = cp.asnumpy(gpu.fused(*map(cp.asarray, arrays), program=program))
    expected = np.maximum(arrays[0], arrays[1]) * arrays[2] + 1 / (1 + np.exp(-arrays[3]))
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize(("pattern", "replacement"), [
    (r"GRID_STRIDE\(group, groups\)", "GRID_STRIDE(group, groups + 1)"), (r"GRID_STRIDE\(group, groups\)", "GRID_STRIDE(group, groups - 1)"),
    (r"x1, at\[2\]", "x1, at[1]"), (r"layout, 3, x2", "layout, 2, x2"), (r"x3, at\[4\]", "x3, at[1]"), (r"y0, at\[0\]", "y0, at[0] + 1"),
    (r"maximum_\((\w+), (\w+)\)", r"fmaxf(\1, \2)"), (r"sigmoid_\((\w+)\)", r"exp_(\1)"), (r"(v\d) \+", r"\1 -"),
], ids=["past the end", "last one left out", "row", "column", "one element", "result", "NaN", "function", "operator"])
def test_a_planted_bug_is_noticed(cp: Any, monkeypatch: pytest.MonkeyPatch, pattern: str, replacement: str) -> None:
    if not simulator.installed():
        pytest.skip("bugs are planted on the simulator only")
    original = formula.source
    check_a_broadcast_formula(cp)

    def planted(*arguments: Any) -> str:
        text, places = re.subn(pattern, replacement, original(*arguments))
        assert places == 1
        return text

    monkeypatch.setattr(formula, "source", planted)
    with pytest.raises((AssertionError, simulator.SimulatorError)):
        check_a_broadcast_formula(cp)
