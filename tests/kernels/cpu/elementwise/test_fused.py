"""Generated kernels: their functions, their code, and the cache on disk."""
from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
from typing import Any

import ml_dtypes
import numba
import numpy as np
import pytest
from lucid_kernels.cpu.elementwise import fused
from lucid_kernels.cpu.math import elementary, inverse
from lucid_kernels.cpu.runtime import tuning
from lucid_kernels.cpu.runtime.allocator import SMALLEST
from lucid_kernels.cpu.simd import nontemporal
from lucid_kernels.expression import Node, Program

ROOT = pathlib.Path(__file__).resolve().parents[4]
FLOAT, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
IN_FLOAT32 = ("log", "log1p", "log2", "log10", "expm1")
BINARY = ("power", "maximum", "minimum", "fmod", "hypot", "arctan2")
CODE = """
import sys
from tests.kernels.cpu.elementwise.test_fused import formula
import numpy as np
from numba.core import event
from lucid_kernels.cpu.elementwise import fused
compiled = []
class Listener(event.Listener):
    def on_start(self, event): compiled.append(event.data['dispatcher'].py_func.__name__)
    def on_end(self, event): pass
event.register('numba:compile', Listener())
x = np.linspace(-1, 1, 10, dtype=np.float32)
assert np.allclose(fused.fused(x, x, program=formula()), x * x + np.tanh(x) * 0.5)
print(any(name.startswith('fused_') for name in compiled))
"""

TWO = """
import sys
import lucid
formulas = {"product": lucid.fuse(lambda a, b: a * b + 1), "quotient": lucid.fuse(lambda a, b: a / b - 3)}
a, b = lucid.full((64,), 4.0), lucid.full((64,), 2.0)
print(*[formulas[name](a, b)[0].item() for name in sys.argv[1:]])
"""


def formula(number: float = 0.5) -> Program:
    """x y + number tanh(x)"""
    x, y = (Node("input", FLOAT, (), place) for place in (0, 1))
    tanh = Node("mul", FLOAT, (Node("tanh", FLOAT, (x,)), Node("constant", FLOAT, (), number)))
    return Program([Node("add", FLOAT, (Node("mul", FLOAT, (x, y)), tanh))])


def single(operation: str, dtype: Any = FLOAT) -> Program:
    """One operation."""
    inputs = [Node("input", dtype, (), place) for place in range(2 if operation in BINARY else 1)]
    return Program([Node(operation, dtype, tuple(inputs))])


def test_the_text_does_not_contain_the_numbers() -> None:
    assert fused.source(formula(0.5), "FF", False) == fused.source(formula(7.0), "FF", False)
    assert fused.source(formula(), "FF", False) != fused.source(formula(), "FS", False)


def test_the_next_process_compiles_nothing(tmp_path: pathlib.Path) -> None:
    path = os.pathsep.join([str(ROOT), str(ROOT / "kernels")])
    environment = {**os.environ, "PYTHONPATH": path, "LUCID_CACHE_DIR": str(tmp_path)}
    for expected in ("True", "False"):
        done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, env=environment, cwd=ROOT)
        assert done.stdout.strip() == expected, done.stderr


def test_kernels_that_other_processes_kept_do_not_share_functions(tmp_path: pathlib.Path) -> None:
    """Each process numbers its functions from 1: two kernels call different functions of the same name."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "kernels")]), "LUCID_CACHE_DIR": str(tmp_path)}
    for names, expected in (("product", "9.0"), ("quotient", "-1.0"), ("product quotient", "9.0 -1.0"), ("quotient product", "-1.0 9.0")):
        done = subprocess.run([sys.executable, "-c", TWO, *names.split()], capture_output=True, text=True, env=environment)
        assert done.stdout.strip() == expected, done.stderr


SINGLE_LOOPS = [*elementary.UNARY, *inverse.UNARY, "arctan2", "power", "exp", "tanh", "sigmoid", "normal_cdf", "maximum",
                "sqrt", "hypot"]
DOUBLE_LOOPS = ["log", "log1p", "expm1", "erf", "power", "hypot"]


@pytest.mark.parametrize(("name", "dtype"), [*[(name, FLOAT) for name in SINGLE_LOOPS], *[(name, DOUBLE) for name in DOUBLE_LOOPS]])
def test_loops_are_vector_instructions(name: str, dtype: Any) -> None:
    program = single(name, dtype)
    scope: dict[str, Any] = dict(fused._GLOBALS)
    exec(fused.source(program, "F" * len(program.inputs), False), scope)
    loop = numba.njit(error_model="numpy")(scope["loop"])  # a kernel from the cache shows no assembly
    x = np.linspace(0.1, 3, 64, dtype=dtype)
    loop(*[x] * len(program.inputs), np.empty_like(x))
    assembly = loop.inspect_asm(loop.signatures[0])
    if "vmovup" not in assembly:
        pytest.skip("written for x86 with AVX")
    assert re.search(r"vmovup[sd]\s+%[yz]mm", assembly)
    assert not re.search(r"\b(log|log1p|log2|log10|exp|exp2|expm1|erfc?|hypot|pow|sincos|a?(sin|cos|tan)h?|atan2)f?\b", assembly)


@pytest.mark.parametrize("name", [*IN_FLOAT32, "sin", "cos", "tan", *inverse.UNARY])
def test_float32_functions_are_right_to_half_a_unit_or_one(name: str) -> None:
    random = np.random.default_rng(0)
    size = 1 << 14
    parts = [np.exp(random.uniform(-85, 85, size)), 1 + random.uniform(-0.1, 0.1, size), random.uniform(0, 100, size),
             random.uniform(0, 1, size)]
    if not name.startswith("log"):
        parts += [-x for x in parts]
    for x in parts:
        x = x.astype(np.float32)
        with np.errstate(all="ignore"):
            exact = getattr(np, name)(x.astype(np.float64))
            y = fused.fused(x, program=single(name)).astype(np.float64)
            unit = np.spacing(np.abs(exact.astype(np.float32))).astype(np.float64)
        normal = np.isfinite(unit) & (np.abs(exact) > 2e-38)
        assert np.max(np.abs(y[normal] - exact[normal]) / unit[normal], initial=0) <= (1.2 if name in IN_FLOAT32 else 0.51)
        assert np.array_equal(np.isnan(y), np.isnan(exact))


@pytest.mark.parametrize("name", ["log", "log1p", "expm1"])
def test_float64_functions_are_right_to_a_unit(name: str) -> None:
    random = np.random.default_rng(0)
    size = 1 << 14
    parts = [10.0 ** random.uniform(-308, 308, size), random.uniform(-1, 2, size), 1 + random.uniform(-1e-3, 1e-3, size),
             10.0 ** random.uniform(-20, 0, size), -(10.0 ** random.uniform(-20, 0, size)), random.uniform(-45, 710, size),
             np.array([0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, 709.78, 709.79, -1e300])]
    for x in parts:
        with np.errstate(all="ignore"):
            exact = getattr(np, name)(x.astype(np.longdouble))
            expected = exact.astype(np.float64)
            y = fused.fused(x, program=single(name, DOUBLE))
            units = np.abs(y - exact) / np.spacing(np.abs(expected))
        assert np.max(units[np.isfinite(expected)], initial=0) <= 1.3
        special = ~np.isfinite(expected) | (expected == 0)
        np.testing.assert_array_equal(y[special], expected[special])
        np.testing.assert_array_equal(np.signbit(y)[expected == 0], np.signbit(expected)[expected == 0])


def test_float64_distances_are_right_to_three_quarters_of_a_unit() -> None:
    """Also where squares are too large or too small, and of subnormal numbers."""
    random = np.random.default_rng(0)
    odd = np.array([0, -0.0, 1, np.inf, -np.inf, np.nan, 5e-324, 1e-310, 1.7e308])
    sizes = 10.0 ** np.concatenate([random.uniform(-2, 2, 1 << 14), random.choice([-310, -160, -150, 150, 160, 306], 1 << 14)])
    x, y = np.concatenate([random.uniform(-1, 1, (2, sizes.size)) * sizes, np.array(np.meshgrid(odd, odd)).reshape(2, -1)], axis=1)
    with np.errstate(all="ignore"):
        exact = np.hypot(x.astype(np.longdouble), y.astype(np.longdouble))
        expected = exact.astype(np.float64)
        found = fused.fused(x, y, program=single("hypot", DOUBLE))
        units = np.abs(found - exact) / np.spacing(expected)
    assert np.max(units[np.isfinite(expected)]) <= 0.76
    np.testing.assert_array_equal(found[~np.isfinite(expected)], expected[~np.isfinite(expected)])


@pytest.mark.parametrize("dtype", [FLOAT, DOUBLE])
def test_powers_are_those_of_c99(dtype: Any) -> None:
    numbers = np.array([np.nan, np.inf, 0.0, 1.0, 0.5, 2.0, 3.0, 1e30, 1e-40, 2.5, 16777217.0, 1e300, 5e-324, 2.0**53 + 2])
    with np.errstate(all="ignore"):
        x, y = np.array(np.meshgrid(*[np.concatenate([numbers, -numbers])] * 2)).astype(dtype).reshape(2, -1)
        expected = np.power(x, y)
    found = fused.fused(x, y, program=single("power", dtype))
    np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == FLOAT else 3e-16)
    number = ~np.isnan(expected)
    assert np.array_equal(np.signbit(found)[number], np.signbit(expected)[number])


def test_float64_powers_are_right_to_a_unit() -> None:
    """Also of bases near 1, of which the logarithm is small, and to exponents that make it large."""
    random = np.random.default_rng(0)
    size = 1 << 13
    x = np.concatenate([random.uniform(0.5, 2, size), 1 + random.uniform(-1e-6, 1e-6, size), 10 ** random.uniform(-300, 300, size),
                        random.uniform(0.6, 1.5, size), 10 ** random.uniform(-323, -308, size)])
    y = np.concatenate([random.uniform(-5, 5, size), random.uniform(-5e8, 5e8, size), random.uniform(-1, 1, size),
                        random.uniform(-1300, 1300, size), random.uniform(-0.9, 0.9, size)])
    exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    found = fused.fused(x, y, program=single("power", DOUBLE))
    assert np.max(np.abs(found - exact) / np.spacing(exact.astype(np.float64))) <= 1.05


@pytest.mark.parametrize("name", ["fmod", "hypot"])
def test_rests_and_distances_of_any_numbers(name: str) -> None:
    """Quotients up to 2^277, subnormal numbers, zeros of both signs, NaN and infinities."""
    random = np.random.default_rng(0)
    odd = np.array([0, -0.0, 1, -1, 3, 0.1, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-38, 3.4e38, -3.4e38], np.float32)
    x, y = np.concatenate([random.integers(0, 1 << 32, (2, 10_000), dtype=np.uint32).view(np.float32),
                           np.array(np.meshgrid(odd, odd)).reshape(2, -1)], axis=1)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x.astype(np.float64), y.astype(np.float64)).astype(np.float32)
    found = fused.fused(x, y, program=single(name))
    np.testing.assert_allclose(found, expected, rtol=0 if name == "fmod" else 1e-7, atol=0 if name == "fmod" else 1e-45)
    number = ~np.isnan(expected)
    assert np.array_equal(np.signbit(found)[number], np.signbit(expected)[number])


@pytest.mark.parametrize("dtype", [FLOAT, DOUBLE])
@pytest.mark.parametrize("name", sorted({*elementary.UNARY, *inverse.UNARY, *BINARY, "exp", "tanh"}))
def test_special_values(name: str, dtype: Any) -> None:
    positive = [np.nan, np.inf, 0.0, 1e-40, 0.5, 1.0, 2.5, 3.5, 80.0, 1e30]
    numbers = np.array(positive + [-x for x in positive], dtype)
    if name in ("erf", "erfc"):
        pytest.skip("NumPy has none; compared with the operation in tests/ops/test_fuse.py")
    program = single(name, dtype)
    arguments = np.array(np.meshgrid(numbers, numbers), dtype).reshape(2, -1)[:len(program.inputs)]
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(*arguments)
    found = fused.fused(*arguments, program=program)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == FLOAT else 1e-14, atol=2e-16)
    if name.startswith("arc"):
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


def test_angles() -> None:
    """Of points in all directions, to half a unit in the last place."""
    x, y = np.random.default_rng(0).standard_normal((2, 1 << 16)).astype(np.float32)
    y *= np.exp(np.clip(20 * x, -40, 40))
    found, exact = fused.fused(y, x, program=single("arctan2")), np.arctan2(y.astype(np.float64), x)
    assert (np.abs(found - exact) <= 0.51 * np.spacing(np.abs(exact.astype(np.float32)))).all()


@pytest.mark.parametrize("dtype", [FLOAT, DOUBLE])
def test_streamed_is_the_same(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also several results, scalars, a mask, and results that are not streamed: of several dtypes, or given."""
    size = SMALLEST // 4 + 33
    x, y = np.random.default_rng(0).standard_normal((2, size)).astype(dtype)
    arguments = [x, y, x > 0, np.array(0.5, dtype)]
    a, b, mask, scalar = (Node("input", array.dtype, (), place) for place, array in enumerate(arguments))
    product = Node("mul", dtype, (a, scalar))
    chosen = Node("where", dtype, (mask, product, Node("constant", dtype, (), 3.0)))
    number = Node("add", dtype, (chosen, Node("tanh", dtype, (b,))))
    compared = Node("lt", np.dtype(bool), (a, b))
    for program in (Program([number]), Program([number, product]), Program([number, compared])):
        expected = fused.fused(*arguments, program=program)
        with monkeypatch.context() as patch:
            patch.setattr(nontemporal, "_streamed_from", lambda: 0)
            found = fused.fused(*arguments, program=program)
        for one, other in zip(*[result if isinstance(result, tuple) else (result,) for result in (found, expected)], strict=True):
            np.testing.assert_array_equal(one, other)
    monkeypatch.setattr(nontemporal, "_streamed_from", lambda: 0)
    expected = x * x.dtype.type(0.5)
    assert fused.fused(*arguments, program=Program([product]), out=x) is x
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("size", [5, 1000, 100_003])
def test_results_in_the_place_of_arguments(size: int) -> None:
    """Each element is read before it is written, also where a result takes the place of another one's argument."""
    x, y = np.random.default_rng(0).standard_normal((2, size)).astype(np.float32)
    a, b, scalar = (Node("input", FLOAT, (), place) for place in range(3))
    program = Program([Node("mul", FLOAT, (b, scalar)), Node("add", FLOAT, (a, b))])
    half = np.array(0.5, np.float32)
    expected = fused.fused(x, y, half, program=program)
    first, second = fused.fused(x, y, half, program=program, out=(x, y))
    assert first is x and second is y
    np.testing.assert_array_equal(x, expected[0])
    np.testing.assert_array_equal(y, expected[1])


def test_alike_and_numbers() -> None:
    """Small arrays of one shape, and numbers without dimensions, also where a result depends on those only."""
    x, number = np.random.default_rng(0).standard_normal((2, 3, 50)).astype(np.float32)[0], np.asarray(0.7, np.float32)
    expected = x * number + np.tanh(x) * np.float32(0.5)
    np.testing.assert_allclose(fused.fused(x, number, program=formula()), expected, rtol=1e-6)
    np.testing.assert_allclose(fused.fused(x[:, ::2], number, program=formula()), expected[:, ::2], rtol=1e-6)
    np.testing.assert_allclose(fused.fused(x, x[:1], program=formula()), x * x[:1] + np.tanh(x) * np.float32(0.5), rtol=1e-6)
    assert fused.fused(x[:0], number, program=formula()).shape == (0, 50)
    assert fused.fused(number, number, program=formula()).shape == ()
    a, b = (Node("input", FLOAT, (), place) for place in (0, 1))
    two = Program([Node("add", FLOAT, (a, b)), Node("neg", FLOAT, (b,))])
    total, negative = fused.fused(x, number, program=two)
    assert total.shape == x.shape and negative.shape == () and negative == -number
    total, negative = fused.fused(x, x, program=two)
    np.testing.assert_array_equal((total, negative), (x + x, -x))


def test_parts_of_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows with gaps are read where they lie, also of several dimensions, other pitches and of no pitch; other parts are copied."""
    monkeypatch.setattr(tuning, "FUSED_PARTS_FROM", 0)
    run_parts, calls = fused._run_parts, list[Any]()
    monkeypatch.setattr(fused, "_run_parts", lambda *arguments: calls.append(0) or run_parts(*arguments))
    x = np.random.default_rng(0).standard_normal((4, 6, 200)).astype(np.float32)
    y, row = np.ascontiguousarray(x[:, 1:4]), np.broadcast_to(x[0, 0, :150], (4, 6, 150))
    for a, b in [(x[..., 50:], x[..., :-50]), (x[:, :3], x[:, 3:]), (x[:, 2:5], y), (x[:, :3, :100], y[:, :, 100:]),
                 (row, x[..., 50:]), (x[::2], x[1::2]), (x[:1, :, 7:], x[3:, :, :-7])]:
        expected = np.ascontiguousarray(a) * b + np.tanh(a) * np.float32(0.5)
        np.testing.assert_allclose(fused.fused(a, b, program=formula()), expected, rtol=1e-5, atol=1e-6)
    assert len(calls) == 6  # one has rows that are not evenly apart
    wide = np.resize(x, (400, 200))
    for a in (wide[1:-1, ::2], wide[::-1, :100], np.resize(wide, (8, 60, 150))[:, 3:-2, 4:]):
        expected = a * a + np.tanh(a) * np.float32(0.5)
        np.testing.assert_allclose(fused.fused(a, a, program=formula()), expected, rtol=1e-5, atol=1e-6)


def test_out_and_threads() -> None:
    x, y = np.random.default_rng(0).standard_normal((2, 100_003)).astype(np.float32)
    out = np.empty_like(x)
    assert fused.fused(x, y, program=formula(), out=out) is out
    np.testing.assert_allclose(out, x * y + np.tanh(x) * np.float32(0.5), rtol=1e-5, atol=1e-6)
    strided = np.empty((100_003, 2), np.float32)[:, 0]
    assert fused.fused(x, y, program=formula(), out=strided) is strided
    np.testing.assert_array_equal(strided, out)
    several = Program([*formula().nodes, Node("input", FLOAT, (), 1)])
    assert fused.fused(x, y, program=several, out=(None, out))[1] is out
    np.testing.assert_array_equal(out, y)


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)])
@pytest.mark.parametrize("streaming", [False, True])
def test_every_half_precision_number(dtype: Any, streaming: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of new results, in the place of an argument, and of parts of arrays, which are read where they lie."""
    if streaming:
        monkeypatch.setattr(nontemporal, "_streamed_from", lambda: 0)
    x = np.tile(np.arange(1 << 16, dtype=np.uint16), 9).view(dtype)
    y = np.roll(x, 12345)
    a, b = Node("input", dtype, (), 0), Node("input", dtype, (), 1)
    program = Program([Node("maximum", dtype, (Node("floor", dtype, (a,)), b))])
    with np.errstate(all="ignore"):
        wanted = np.maximum(np.floor(x.astype(np.float32)), y.astype(np.float32)).astype(dtype)
    found = fused.fused(x, y, program=program)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.astype(np.float32), wanted.astype(np.float32))
    place = x.copy()
    assert fused.fused(place, y, program=program, out=place) is place
    np.testing.assert_array_equal(place.view(np.uint16), found.view(np.uint16))
    rows, others = x.reshape(-1, 512)[:, 3:400], y.reshape(-1, 512)[:, 3:400]
    parts = fused.fused(rows, others, program=program)
    np.testing.assert_array_equal(parts.view(np.uint16), found.view(np.uint16).reshape(-1, 512)[:, 3:400])
