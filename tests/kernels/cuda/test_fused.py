"""Generated CUDA kernels: their text, and that NVRTC compiles all operations."""
from __future__ import annotations

import importlib.util
import pathlib
import sys
from typing import Any

import numpy as np
import pytest
from lucid_kernels.cuda import formula, source
from lucid_kernels.expression import Node, Program

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "kernels" / "compile_check.py"
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
    texts = {formula.source(Program([Node("mul", REAL, (x, Node("constant", REAL, (), value)))]), "F") for value in (2.5, 7.0)}
    (text,) = texts
    assert "const float v0 = (float)(ex0 * k0);" in text


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_operation_has_a_kernel(cp: Any, dtype: Any) -> None:
    from lucid_kernels.cpu import fused as cpu
    from lucid_kernels.cuda import fused as gpu

    program = every_operation(np.dtype(dtype))
    random = np.random.default_rng(0)
    x, y = random.uniform(0.1, 0.9, (2, 300)).astype(dtype)
    n = np.arange(300).astype(np.uint8)
    arguments = x, y, n
    with np.errstate(all="ignore"):
        expected = [cpu.fused(*arguments, program=program.part((place,))) for place in range(len(program.outputs))]
    found = gpu.fused(*map(cp.asarray, arguments), program=program)
    for ours, wanted in zip(found, expected, strict=True):
        assert ours.dtype == wanted.dtype
        np.testing.assert_allclose(cp.asnumpy(ours), wanted, rtol=2e-6 if dtype == np.float32 else 1e-12, atol=1e-7)


def test_nvrtc_compiles_every_operation() -> None:
    spec = importlib.util.spec_from_file_location("compile_check", SCRIPT)
    assert spec is not None and spec.loader is not None
    tool = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    try:
        nvrtc = tool.Nvrtc()
    except RuntimeError as error:
        pytest.skip(str(error))
    options = [*tool.CUPY_OPTIONS, "--fmad=false", "-arch=sm_90", *[f"-I{folder}" for folder in tool.cuda_include_dirs()]]
    for dtype in (np.float32, np.float64):
        text = formula.source(every_operation(np.dtype(dtype)), "FRC")
        nvrtc.compile(source.inline_includes(text), "fused.cu", options, [])
