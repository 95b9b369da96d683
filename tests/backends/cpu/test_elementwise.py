"""Elementwise operations on large arrays give what NumPy gives, broadcast and with numbers, NaN, infinities and signed zeros."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.runtime import allocator, patches

import lucid
from lucid import backends
from lucid.backends.cpu.backend import TABLE
from lucid.backends.elementwise import ROWS
from lucid.backends.elementwise.row import NUMPY_HAS_VECTORS
from lucid.backends.sizes import LARGE, MIDDLE
from lucid.nn import functional as F

BY_LIBM = sorted(row.name for row in ROWS.values() if row.libm)
SPECIAL = np.array([0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, 1e-40], np.float32)
ROWS, COLUMNS = 300, 2000
WHOLE = np.resize(np.concatenate([SPECIAL, np.random.default_rng(0).standard_normal(501, dtype=np.float32)]), (ROWS, COLUMNS))
ROW, COLUMN = WHOLE[7], np.ascontiguousarray(WHOLE[:, 9:10])
PAIRS = {
    "row": (WHOLE, ROW), "column": (COLUMN, WHOLE), "outer": (COLUMN, ROW), "number": (WHOLE, 0.3), "first number": (2, WHOLE),
    "double": (WHOLE.astype(np.float64), COLUMN.astype(np.float64)), "no dimensions": (np.float32(-3.0).reshape(()), WHOLE),
    "narrow": (WHOLE.reshape(-1, 8), SPECIAL), "strided": (WHOLE[:, ::2], ROW[::2]), "integers": (np.arange(70_000), 3),
    "batch": (WHOLE.reshape(4, 75, 2, 1000), WHOLE[:75, :2].reshape(75, 2, 1)),
}  # fmt: skip
FUNCTIONS: dict[str, tuple[Callable[..., Any], np.ufunc]] = {
    "add": (lucid.add, np.add), "sub": (lucid.sub, np.subtract), "mul": (lucid.mul, np.multiply), "div": (lucid.div, np.true_divide),
}  # fmt: skip


def given(operand: Any) -> Any:
    return lucid.tensor(operand) if isinstance(operand, np.ndarray) else operand


def check(result: Any, wanted: np.ndarray, signs: bool = True) -> None:
    """`signs`: also those of zeros, which are not those of NumPy where one of two equal numbers is chosen."""
    values = result.numpy()
    assert values.dtype == wanted.dtype
    np.testing.assert_array_equal(values, wanted)
    if signs:
        zeros = wanted == 0
        np.testing.assert_array_equal(np.signbit(values[zeros]), np.signbit(wanted[zeros]))


@pytest.mark.parametrize("case", PAIRS)
def test_arithmetic(case: str) -> None:
    a, b = PAIRS[case]
    for name, (function, ufunc) in FUNCTIONS.items() if case in ("row", "first number") else [("mul", FUNCTIONS["mul"])]:
        with np.errstate(all="ignore"):
            wanted = ufunc(a, b)
        result = function(given(a), given(b))
        assert result.shape == wanted.shape, name
        check(result, wanted)


@pytest.mark.parametrize("pair", ["outer", "row"])
def test_choices_of_broadcast_arrays(pair: str) -> None:
    a, b = PAIRS[pair]
    check(lucid.maximum(given(a), given(b)), np.maximum(a, b), signs=False)
    check(lucid.minimum(given(b), given(a)), np.minimum(b, a), signs=False)


def test_functions_of_one_array() -> None:
    x = given(WHOLE)
    with np.errstate(all="ignore"):
        check(-x, -WHOLE), check(x.abs(), np.abs(WHOLE)), check(x.sqrt(), np.sqrt(WHOLE)), check(x.reciprocal(), 1 / WHOLE)
    for low, high in ((-1, 0.5), (2, 1), (None, 0), (math.nan, None)):
        check(x.clamp(low, high), WHOLE.clip(low, high), signs=False)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_truth_shifts_and_signs(dtype: Any) -> None:
    """Of zeros of both signs and NaN; shifts that C defines and others."""
    with np.errstate(invalid="ignore"):
        x = WHOLE.astype(dtype)
    y = np.roll(x, 1)
    for name in ("logical_and", "logical_or", "logical_xor"):
        check(getattr(lucid, name)(given(x), given(y)), getattr(np, name)(x, y))
    check(lucid.logical_not(given(x)), np.logical_not(x))
    if dtype is np.int32:
        check(given(x) << given(np.abs(y) % 31), x << np.abs(y) % 31)
        check(given(x) << 32, np.zeros_like(x)), check(given(x) >> 40, x >> 31)
    else:
        check(lucid.copysign(given(x), given(y)), np.copysign(x, y))


@pytest.mark.skipif(NUMPY_HAS_VECTORS, reason="they are NumPy's")
@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p"])
def test_exponentials_and_logarithms_of_float64(name: str) -> None:
    """Within two units in the last place of the exact ones, and in place."""
    edges = [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 1e-310, 1e-20, -1e-20, 1.0, -1.0, -1.5, 708.0, 709.7, 710.0,
             -708.0, -744.0, -746.0, 1e300, -1e300]  # fmt: skip
    scale = np.geomspace(1e-12, 300, 100_000) * np.random.default_rng(0).choice([-1.0, 1.0], 100_000)
    x = np.concatenate([edges, np.abs(scale) if name == "log" else scale])
    with np.errstate(all="ignore"):
        x = np.where((x < -1) & np.isfinite(x), 1 / x, x) if name == "log1p" else x
        wanted = getattr(np, name)(x.astype(np.longdouble)).astype(np.float64)
    result = getattr(lucid, name)(given(x)).numpy()
    np.testing.assert_allclose(result, wanted, rtol=2 * np.finfo(np.float64).eps, atol=2 * 5e-324)
    zeros = wanted == 0
    np.testing.assert_array_equal(np.signbit(result[zeros]), np.signbit(wanted[zeros]))
    t = given(x.copy())
    getattr(t, f"{name}_")()
    np.testing.assert_array_equal(t.numpy(), result)
    np.testing.assert_allclose(getattr(lucid, name)(given(np.repeat(x, 2))[::2]).numpy(), wanted, rtol=1e-15, atol=2 * 5e-324)


@pytest.mark.parametrize("name", BY_LIBM)
def test_float32_functions_are_within_a_unit_in_the_last_place(name: str) -> None:
    x = np.random.default_rng(0).standard_normal(LARGE).astype(np.float32)
    if name.startswith("log") or name == "arccosh":
        x = np.abs(x) + np.float32(name == "arccosh")
    elif name in ("arcsin", "arccos", "arctanh"):
        x = np.tanh(x)
    arguments = [x, np.roll(x, 1)] if name == "arctan2" else [x]
    exact = getattr(np, name)(*[a.astype(np.float64) for a in arguments])
    error = np.abs(getattr(lucid, name)(*map(given, arguments)).numpy() - exact)
    assert (error <= 1.2 * np.spacing(np.abs(exact.astype(np.float32)))).all()


def test_parts_of_arrays() -> None:
    for a, b in ((WHOLE[:, 9:], WHOLE[:, :-9]), (WHOLE[1:, 9:], WHOLE[1:, 9:].copy()), (WHOLE[:, 9:], 0.3), (2.5, WHOLE[:, :1000])):
        with np.errstate(all="ignore"):
            check(given(a) * given(b), np.asarray(a * b, np.float32))


def test_gradients_of_broadcast_arrays() -> None:
    a, b = lucid.ones(ROWS, 1, dtype=lucid.float64), lucid.linspace(1, 2, COLUMNS, dtype=lucid.float64)
    a.requires_grad_(), b.requires_grad_()
    (a / b).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), (1 / b.detach().numpy()).sum(keepdims=True).repeat(ROWS)[:, None])
    np.testing.assert_allclose(b.grad.numpy(), -ROWS / b.detach().numpy() ** 2)


@pytest.mark.filterwarnings("error")
def test_gradients_of_sums_are_not_written_out() -> None:
    """What is computed with them is that of arrays in full, and memory of its own."""
    shape = (300, 400)
    g, x = np.broadcast_to(np.float32(1.5), shape), np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    for name, operands in {"neg": (g,), "abs": (g,), "maximum": (g, x), "minimum": (x, g), "hypot": (x, g)}.items():
        found = TABLE[name](*operands)
        np.testing.assert_allclose(found, TABLE[name](*map(np.array, operands)), rtol=1e-6)
        assert found.flags.c_contiguous and found.flags.writeable and found.strides == x.strides
    np.testing.assert_array_equal(TABLE["square"](x), np.square(x))


@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_arithmetic_of_integers_wraps_around(dtype: str) -> None:
    limits = np.iinfo(dtype)
    a, b = np.random.default_rng(0).integers(limits.min, limits.max, (2, 600, 500)).astype(dtype)
    for name, ufunc in {"add": np.add, "sub": np.subtract, "mul": np.multiply}.items():
        for x, y in ((a, b), (a, b[0]), (a[:, :1].copy(), b), (a.T, b.T), (a[:, 1:], b[:, :-1]), (a, 3), (-7, b)):
            found, wanted = TABLE[name](x, y), ufunc(x, y)
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)
        x = a.copy()
        np.testing.assert_array_equal(TABLE[name](x, b, out=x), ufunc(a, b))
        np.testing.assert_array_equal(TABLE[name](b, 3, out=x), ufunc(b, 3))
    np.testing.assert_array_equal(TABLE["div"](a, b), np.true_divide(a, b))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_arithmetic_with_a_number_in_place(name: str) -> None:
    x = lucid.randn(600, 500)
    wanted = getattr(np, {"add": "add", "sub": "subtract", "mul": "multiply", "div": "true_divide"}[name])(x.numpy(), np.float32(1.7))
    address = x.data_ptr()
    getattr(x, f"{name}_")(1.7)
    np.testing.assert_array_equal(x.numpy(), wanted)
    assert x.data_ptr() == address


def test_numbers_beyond_the_dtype_are_infinite() -> None:
    ones = lucid.ones(ROWS, COLUMNS)
    assert (ones * 1e40).min().item() == math.inf == ones.clamp(1e300).min().item()


def test_the_operation_keeps_its_name() -> None:
    names: list[str] = []
    with backends.observe(lambda name, *call: names.append(name)):
        y = given(WHOLE).requires_grad_() * 2.0
    assert names == ["mul"] and y.grad_fn.name() == "mul"


@pytest.mark.skipif(not patches.ENABLED, reason="LUCID_PATCHES=0")
@pytest.mark.parametrize(("name", "dtype"), [("floor", lucid.float32), ("log2", lucid.float32), ("log2", lucid.float64)])
def test_results_of_many_pages_come_from_the_pool(name: str, dtype: Any) -> None:
    x, function = lucid.ones(9 << 20, dtype=dtype), getattr(lucid, name)
    function(x)
    before = allocator.POOL.count().hits
    assert (function(x).numpy() == getattr(np, name)(1)).all() and allocator.POOL.count().hits == before + 1


@pytest.mark.parametrize(("dtype", "integer"), [("f4", "u4"), ("f8", "u8")])
def test_next_numbers(dtype: str, integer: str) -> None:
    """Of any bits, equal numbers, zeros of both signs, the largest and the smallest numbers, infinities and NaN; and angles."""
    limits: Any = np.finfo(dtype)
    odd = np.array([0.0, 1.0, np.inf, np.nan, limits.max, limits.tiny, limits.smallest_subnormal], dtype)
    x, y = np.random.default_rng(0).integers(0, np.iinfo(integer).max, (2, 5000), integer).view(dtype)
    pairs = np.array(np.meshgrid(np.append(odd, -odd), np.append(odd, -odd)), dtype).reshape(2, -1)
    x, y = np.concatenate([x, x[:99], pairs[0]]), np.concatenate([y, x[:99], pairs[1]])
    with np.errstate(invalid="ignore", over="ignore"):
        wanted = np.nextafter(x, y)
    check(lucid.nextafter(lucid.tensor(x), lucid.tensor(y)), wanted)
    check(lucid.angle(lucid.tensor(x)), np.where(np.isnan(x), x, np.where(x < 0, x.dtype.type(math.pi), x.dtype.type(0))))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float64"])
def test_slow_functions_that_threads_share(dtype: str) -> None:
    generator = np.random.default_rng(1)
    a, b = generator.integers(0, 100, 600_000).astype(dtype), generator.integers(1, 7, 600_000).astype(dtype)
    if dtype[0] != "u":
        a, b = a - a.dtype.type(50), b - b.dtype.type(8)
    if dtype == "float64":
        a[:5] = [np.nan, np.inf, -np.inf, -0.0, 0.0]
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(lucid.from_numpy(a).cos().numpy(), np.cos(a), rtol=1e-14)
        return
    for name in ("floor_divide", "remainder", "fmod", "gcd", "lcm"):
        ufunc = getattr(np, name)
        with np.errstate(all="ignore"):
            check(getattr(lucid, name)(lucid.from_numpy(a), lucid.from_numpy(b)), ufunc(a, b))
            if name not in ("gcd", "lcm"):
                check(getattr(lucid, name)(lucid.from_numpy(a), 3), ufunc(a, np.asarray(3, dtype)))


def test_failures_in_a_shared_function_are_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        backends.threads.share(lambda part: 1 // part, [1, 2, 0])


#: They take turns: they differ in how a kernel reads and writes them, whatever it computes.
HALVES = ["float16", "bfloat16"] * 50


@pytest.mark.parametrize(("name", "dtype"), [*zip(FUNCTIONS, HALVES, strict=False)])
def test_arithmetic_of_halves_is_rounded_once(name: str, dtype: str) -> None:
    function, ufunc = FUNCTIONS[name]
    a, b = (lucid.from_numpy(np.ascontiguousarray(x)).to(getattr(lucid, dtype)) for x in (WHOLE * 9, WHOLE[::-1] * 300))
    with np.errstate(all="ignore"):
        wanted = lucid.from_numpy(ufunc(a.float().numpy(), b.float().numpy())).to(a.dtype)
        number = function(a[:1, :64], 1.7).float()
    check(function(a, b).float(), wanted.float().numpy())
    check(function(a, 1.7)[:1, :64].float(), number.numpy())  # as of few elements


ONE_HALF = """exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan sinh cosh asin acos atan asinh acosh atanh floor ceil trunc round
sign square reciprocal neg abs isnan isinf isfinite nan_to_num logical_not relu sigmoid tanh""".split()
TWO_HALVES = """maximum minimum fmod remainder floor_divide hypot copysign atan2 logaddexp logaddexp2 fmax fmin xlogy pow lt le gt ge eq ne
logical_and logical_or logical_xor""".split()


@pytest.mark.parametrize(("name", "dtype"), [
    *zip(ONE_HALF, HALVES, strict=False), *zip(TWO_HALVES, HALVES, strict=False)])  # fmt: skip
def test_functions_of_halves_are_those_of_float32_rounded_once(name: str, dtype: str) -> None:
    """All kinds of numbers; transposed, and with a number; a unit in the last place is the difference of two ways in float32."""
    function: Any = getattr(lucid, name)
    x = lucid.from_numpy(WHOLE * 3).to(getattr(lucid, dtype))
    operands = [x] if name in ONE_HALF else [x, lucid.from_numpy(np.roll(WHOLE, 5)).to(x.dtype)]
    cases = [operands, [operand.t() for operand in operands]]
    if name in ("maximum", "pow", "lt", "remainder"):
        cases.append([x, x[0]]) if name == "maximum" else cases.append([x, 2])
    for case in cases:
        wide = [value.float() if isinstance(value, lucid.Tensor) else value for value in case]
        attributes = {} if name != "nan_to_num" else dict(zip(("posinf", "neginf"), x[0, 4:6].nan_to_num().float().tolist(), strict=True))
        result, wanted = function(*case), function(*wide, **attributes)
        if wanted.dtype == lucid.bool:
            assert result.dtype == lucid.bool and lucid.equal(result, wanted)
            continue
        assert result.dtype == x.dtype and result.shape == wanted.shape
        wanted = wanted.to(x.dtype).float()
        np.testing.assert_allclose(result.float().numpy(), wanted.numpy(), rtol=2**-7 if dtype == "bfloat16" else 2**-10, atol=1e-7)
        exact = result.float().numpy() == wanted.numpy()
        assert np.mean(exact | np.isnan(wanted.numpy())) > 0.99


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_in_place_and_with_gradients(dtype: str) -> None:
    x = lucid.from_numpy(WHOLE.clip(-3, 3)).nan_to_num().to(getattr(lucid, dtype))
    functions = (lucid.relu, lucid.sigmoid, F.gelu, lucid.tanh, F.silu, F.leaky_relu, lambda t: t.clamp(-1, 1), lambda t: t * t + t)
    for function in functions[dtype == "bfloat16" :: 2]:
        half, single = x.clone().requires_grad_(), x.float().requires_grad_()
        function(half).backward(x), function(single).float().backward(x.float())
        np.testing.assert_allclose(half.grad.float().numpy(), single.grad.numpy(), rtol=0.02, atol=0.04)
        half.grad = None
        function(half).sum().backward()  # a gradient that is one number
        assert half.grad.dtype == x.dtype
    y = x.clone()
    memory = y.numpy().ctypes.data
    y.add_(x).mul_(x).clamp_(-2, 2).neg_().abs_().exp_().lerp_(x, 0.25).add_(x, alpha=2)
    assert y.numpy().ctypes.data == memory
    z = x.float()
    z = lucid.lerp(((z + z).to(x.dtype) * x).to(x.dtype).clamp(-2, 2).abs().float().exp().to(x.dtype).float(), x.float(), 0.25)
    np.testing.assert_allclose(y.float().numpy(), (z + 2 * x.float()).numpy(), rtol=0.02, atol=0.05)


@pytest.mark.parametrize(("name", "dtype"), [*zip(["exp", "sigmoid", "tanh", "gelu", "sqrt", "neg"], HALVES, strict=False)])
def test_few_halves_and_parts_of_them(name: str, dtype: str) -> None:
    """On either side of the numbers of elements from which on there are kernels; each half is the result in float32, rounded."""
    function: Any = getattr(lucid, name, None) or getattr(F, name)
    x = lucid.from_numpy(WHOLE[:, :200] * 2).to(getattr(lucid, dtype))
    for part in (x[0, 0], x[:0], x[0, :64], x[:8], x[:12], x[:12, 100:], x[:, 100:], x[:, ::2], x[:12].t(), x[0].expand(300, 200)):
        result, wanted = function(part), function(part.float()).to(part.dtype)
        assert result.dtype == part.dtype and result.shape == part.shape
        np.testing.assert_allclose(result.float().numpy(), wanted.float().numpy(), rtol=lucid.finfo(part.dtype).eps, atol=1e-7)


@pytest.mark.parametrize("size", [64, MIDDLE - 1, MIDDLE, LARGE])
def test_a_number_and_halves(size: int) -> None:
    """The number is rounded to the dtype of the array, as is one without dimensions."""
    x = lucid.linspace(-3, 3, size).to(lucid.bfloat16)
    for number in (0.3, 2, 3e38, -math.inf):
        other = lucid.tensor(number).to(x.dtype)
        for result, wanted in ((x * number, x.float() * other.float()), (number - x, other.float() - x.float()), (x + other, x + number)):
            np.testing.assert_array_equal(result.float().numpy(), wanted.to(x.dtype).float().numpy())


@pytest.mark.parametrize(("exponent", "dtype"), [*zip([3, -1, -2, 0.5, -0.5, 2.5], HALVES, strict=False)])
def test_powers_of_halves(exponent: float, dtype: str) -> None:
    x = lucid.linspace(0.5, 3, 70_000).to(getattr(lucid, dtype)).requires_grad_()
    y, exact = x**exponent, x.detach().double() ** exponent
    y.sum().backward()
    eps = lucid.finfo(x.dtype).eps
    np.testing.assert_allclose(y.detach().double().numpy(), exact.numpy(), rtol=eps / 2)
    slope = exponent * x.detach().double() ** (exponent - 1)
    np.testing.assert_allclose(x.grad.double().numpy(), slope.numpy(), rtol=2 * eps)


@pytest.mark.parametrize("half", ["float16", "bfloat16"])
@pytest.mark.parametrize("other", ["float64", "int64", "int32", "int16", "int8", "uint8", "bool"])
def test_casts_from_and_to_halves(half: str, other: str) -> None:
    values = lucid.from_numpy(np.random.default_rng(4).integers(0, 100, 70_000)).to(getattr(lucid, other))
    assert lucid.equal(values.to(getattr(lucid, half)), values.float().to(getattr(lucid, half)))
    assert lucid.equal(values.to(getattr(lucid, half)).to(values.dtype), values)
    if other == "float64":  # through float32, as in PyTorch: rounded twice
        double = lucid.full((70_000,), 1 + 2.0**-11 + 2.0**-40, dtype=lucid.float64)
        assert (double.half() == 1).all() and (double[:3].half() == 1).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sums_of_halves_are_rounded_once(dtype: str) -> None:
    x = lucid.from_numpy(np.random.default_rng(2).standard_normal((400, 300))).to(getattr(lucid, dtype))
    for function in (lucid.sum, lucid.mean):
        for dim in (None, 0, 1):
            wanted = function(x.double(), dim).to(x.dtype)
            assert function(x, dim).dtype == x.dtype
            check(function(x, dim).float(), wanted.float().numpy())


def test_clamp_between_tensors() -> None:
    low, high = np.flipud(WHOLE), np.fliplr(WHOLE)
    x, a, b = (lucid.from_numpy(np.ascontiguousarray(array)) for array in (WHOLE, low, high))
    check(x.clamp(a, b), np.minimum(np.maximum(WHOLE, low), high), signs=False)
    check(x.clamp(a), np.maximum(WHOLE, low), signs=False)
    check(x.clamp(max=b), np.minimum(WHOLE, high), signs=False)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64"])
def test_sign_of_integers(dtype: str) -> None:
    values = np.arange(-100, 100).astype(dtype)
    check(lucid.sign(lucid.from_numpy(values)), np.sign(values))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
def test_shifts_by_any_count(dtype: str) -> None:
    """By negative counts and beyond the width, nothing is left but the sign; as of Python's integers."""
    limits = np.iinfo(dtype)
    a = np.random.default_rng(5).integers(limits.min, limits.max, 3000, dtype=dtype, endpoint=True)
    b = np.random.default_rng(6).integers(max(limits.min, -70), 100, 3000).astype(dtype)
    width = 8 * a.itemsize
    for counts in (b, np.full_like(b, width), np.full_like(b, width - 1), np.full_like(b, limits.max)):
        pairs = list(zip(a.tolist(), counts.tolist(), strict=True))
        left = [x << n if 0 <= n < width else 0 for x, n in pairs]
        right = [x >> (n if 0 <= n < width else width) for x, n in pairs]
        given = lucid.from_numpy(a), lucid.from_numpy(counts)
        check(lucid.bitwise_left_shift(*given), np.array([x & 2**64 - 1 for x in left], np.uint64).astype(dtype))
        check(lucid.bitwise_right_shift(*given), np.array(right, dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", BY_LIBM)
def test_functions_that_numpy_may_leave_to_libm(name: str, dtype: Any) -> None:
    """With special values; of a transposed array, in place and by half-precision numbers too."""
    x = WHOLE.astype(dtype)
    arguments = [x, np.roll(x, 3)] if name == "arctan2" else [x]
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(*arguments)
    function = getattr(lucid, name)
    tolerance = {"rtol": 3e-7 if dtype == np.float32 else 1e-15, "atol": 1e-45}
    np.testing.assert_allclose(function(*map(given, arguments)).numpy(), wanted, **tolerance)
    np.testing.assert_allclose(function(*[given(a.T) for a in arguments]).numpy(), wanted.T, **tolerance)
    first, *others = map(given, arguments)
    np.testing.assert_allclose(getattr(first, f"{name}_")(*others).numpy(), wanted, **tolerance)
    halves = [lucid.tensor(a.astype(np.float16)) for a in arguments]
    with np.errstate(all="ignore"):
        rounded = getattr(np, name)(*[h.numpy().astype(np.float32) for h in halves]).astype(np.float16)
    np.testing.assert_allclose(function(*halves).numpy(), rounded, rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("name", ["neg", "abs", "sqrt", "maximum"])
def test_signs_and_roots_of_parts(name: str) -> None:
    x = np.random.default_rng(0).standard_normal((300, 640)).astype(np.float32)
    for part in (x[:, 320:], x[:, ::2], x[::-1, :320]):
        operands = (part, x[:, :320]) if name == "maximum" else (part,)
        found = backends.run(name, operands)
        np.testing.assert_array_equal(found, backends.run(name, tuple(map(np.ascontiguousarray, operands))))
        assert found.flags.c_contiguous
