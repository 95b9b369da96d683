"""Operations that write straight into a tensor, in place or with `out`: the numbers, gradients and errors of the others."""
from __future__ import annotations

import math
import operator
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from lucid_kernels.cpu.runtime.allocator import POOL

import lucid
from lucid import Tensor, backends
from lucid.ops._methods import families

#: What the methods take beside the tensor: None is nothing, a number of tensors, or values.
OPERANDS: dict[str, Any] = {
    **dict.fromkeys(("add sub subtract mul multiply div divide true_divide floor_divide remainder fmod atan2 arctan2 eq ne lt le gt "
                     "ge greater greater_equal less less_equal not_equal logical_and logical_or logical_xor bitwise_and bitwise_or "
                     "bitwise_xor ldexp pow").split(), 1),
    **dict.fromkeys(("addcmul", "addcdiv"), 2),
    "clip": (-0.5, 0.5), "clamp": (-0.5, 0.5), "clamp_min": (0.5,), "clamp_max": (0.5,),
}
NAMES = sorted({name for family in families for name in getattr(family, "SINGLE", ())
                if name in getattr(family, "INPLACE_METHODS", ())})
#: Those whose kernel computes a new array all the same, and `lerp`, which is tested beside others below.
INDIRECT = frozenset("""
eq floor_divide ge greater greater_equal gt le less
less_equal logical_and logical_not logical_or logical_xor lt nan_to_num ne not_equal sign sinc
bitwise_and bitwise_not bitwise_or bitwise_xor addcdiv addcmul ldexp lerp
""".split())
DTYPES = (lucid.float32, lucid.float64, lucid.float16, lucid.bfloat16, lucid.int32, lucid.uint8, lucid.bool, lucid.complex64)
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.t(),
    "rows with gaps": lambda x: x[:, 1:-1],
    "every other": lambda x: x[::2, ::3],
    "one column": lambda x: x[:, 2],
    "one element": lambda x: x[1, 1],
    "empty": lambda x: x[:0],
}


def numbers(dtype: Any, device: str, seed: int) -> Tensor:
    """A matrix of 5 x 7 with both signs, zeros, and NaN and infinities where the dtype has them."""
    values = np.random.default_rng(seed).integers(-6, 7, (5, 7)) / 4
    if dtype in (lucid.int32, lucid.uint8):
        values = np.abs(values * 4) + (seed > 0)  # integers are not divided by 0, nor raised to negative powers
    elif dtype is not lucid.bool:
        values[0, :3] = np.nan, np.inf, -np.inf
        values[1, 1] = np.nan
    return lucid.tensor(values, device=device).to(dtype)


def operands(name: str, dtype: Any, device: str, layout: Callable[[Tensor], Tensor]) -> tuple[Any, ...]:
    given = OPERANDS.get(name, ())
    if name == "lerp":
        return layout(numbers(dtype, device, 1)), 0.25
    return tuple(layout(numbers(dtype, device, seed + 1)) for seed in range(given)) if isinstance(given, int) else given


def assert_same(a: Tensor, b: Tensor) -> None:
    np.testing.assert_array_equal(a.cpu().numpy().astype(complex), b.cpu().numpy().astype(complex))


@pytest.mark.parametrize("name", NAMES)
def test_in_place_gives_the_numbers_of_the_function(name: str, device: str) -> None:
    for dtype in DTYPES if device == "cpu" else (lucid.float32, lucid.bool):
        for label, layout in LAYOUTS.items():
            x = numbers(dtype, device, 0)
            part, others = layout(x), operands(name, dtype, device, layout)
            before, version = x.clone(), x._version
            try:
                expected = getattr(part, name)(*others)
                fits = lucid.can_cast(expected.dtype, dtype)
            except (RuntimeError, NotImplementedError, TypeError) as error:
                expected, fits = type(error), False
            if fits:
                result = getattr(part, f"{name}_")(*others)
                assert result is part and x._version == version + 1, (name, dtype, label)
                assert_same(part, expected.to(dtype))
                layout(before).copy_(part)  # and nothing else is written
                assert_same(x, before)
            else:
                with pytest.raises(expected if isinstance(expected, type) else RuntimeError):
                    getattr(part, f"{name}_")(*others)
                assert_same(x, before)
                assert x._version == version


@pytest.mark.parametrize("name", [name for name in NAMES if hasattr(lucid, name)])
def test_out_gives_the_numbers_of_the_function(name: str, device: str) -> None:
    function = getattr(lucid, name)
    if not hasattr(function, "without_out"):
        pytest.skip("has no out")
    for dtype in (lucid.float32, lucid.bfloat16, lucid.int32, lucid.bool) if device == "cpu" else (lucid.float32,):
        for layout in LAYOUTS.values():
            x = numbers(dtype, device, 0)
            part, others = layout(x), operands(name, dtype, device, layout)
            try:
                expected = function(part, *others)
            except (RuntimeError, NotImplementedError, TypeError):
                continue
            out = layout(lucid.zeros(5, 7, dtype=expected.dtype, device=device))
            assert function(part, *others, out=out) is out
            assert_same(out, expected)
            if expected.dtype == dtype:
                assert function(part, *others, out=part) is part
                assert_same(part, expected)


def peak(call: Callable[[], Any]) -> int:
    """The most bytes that `call` takes beyond what there was, of large arrays in the pool or others."""
    call()  # compiles
    POOL.reset_peaks()
    before = POOL.count().max_allocated
    tracemalloc.start()
    try:
        call()
        return max(tracemalloc.get_traced_memory()[1], POOL.count().max_allocated - before)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in INDIRECT])
def test_no_second_array(name: str) -> None:
    x = lucid.rand(600, 512)
    others = tuple(lucid.rand(600, 512) for _ in range(given)) if isinstance(given := OPERANDS.get(name, ()), int) else given
    with lucid.no_grad():
        assert peak(lambda: getattr(x, f"{name}_")(*others)) < x.nbytes // 8
        if hasattr(getattr(lucid, name, None), "without_out"):
            out = lucid.empty(600, 512)
            assert peak(lambda: getattr(lucid, name)(x, *others, out=out)) < x.nbytes // 8


@pytest.mark.parametrize("call", [
    lambda x, y: x.add_(1), lambda x, y: x.mul_(y[0]), lambda x, y: lucid.nn.functional.relu(x, inplace=True),
    lambda x, y: lucid.nn.functional.silu(x, inplace=True), lambda x, y: lucid.nn.functional.hardtanh(x, inplace=True),
    lambda x, y: lucid.nn.functional.leaky_relu(x, inplace=True), lambda x, y: x.lerp_(y, 0.3), lambda x, y: x.lerp_(y, y),
    lambda x, y: x[:, 1:].mul_(y[:, 1:]), lambda x, y: x.t().sub_(y.t()),
    lambda x, y: x.pow_(2), lambda x, y: x.__imul__(2), lambda x, y: x.add_(y, alpha=0.1), lambda x, y: x.sub_(y, alpha=2),
    lambda x, y: lucid.add(x, y, alpha=3, out=x)])
def test_no_second_array_for_broadcast_operands_numbers_and_views(call: Any) -> None:
    x, y = lucid.rand(2400, 1024), lucid.rand(2400, 1024)
    with lucid.no_grad():
        assert peak(lambda: call(x, y)) < x.nbytes // 8  # a block of a scaled operand is what it takes at most


SMOOTH: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda y, w: y.add_(w, alpha=2), "sub_": lambda y, w: y.sub_(w), "mul_": lambda y, w: y.mul_(w),
    "sub_ alpha": lambda y, w: y.sub_(w, alpha=0.5), "mul_ number": lambda y, w: y.mul_(1.5), "div_": lambda y, w: y.div_(w), "row": lambda y, w: y.mul_(w[0]),
    "exp_": lambda y, w: y.mul_(0.3).exp_(), "sin_": lambda y, w: y.sin_(), "sigmoid_": lambda y, w: y.sigmoid_(),
    "tanh_": lambda y, w: y.tanh_(), "square_": lambda y, w: y.square_(), "lerp_": lambda y, w: y.lerp_(w, 0.3),
    "lerp_ tensor": lambda y, w: y.lerp_(y * 2, w), "addcmul_": lambda y, w: y.addcmul_(w, w, value=0.5),
    "pow_": lambda y, w: y.pow_(3), "clamp_": lambda y, w: y.clamp_(-1.0, 1.0), "sqrt_": lambda y, w: y.square_().add_(1).sqrt_(),
    "view": lambda y, w: y[1:].mul_(w[1:]), "view kept": lambda y, w: y[:, 1:].mul_(0.5).exp_(),
    "self": lambda y, w: y.add_(y), "another view": lambda y, w: y.t().mul_(w.t()),
}


@pytest.mark.torch
@pytest.mark.parametrize("names", [(first, second) for first in SMOOTH for second in ("mul_", "sigmoid_", "view")], ids="-".join)
def test_gradients_and_second_gradients_of_chains(names: tuple[str, str]) -> None:
    torch = pytest.importorskip("torch")
    values = np.random.default_rng(0).uniform(0.3, 1.2, (2, 3, 4))

    def run(lib: Any) -> Any:
        x, w = (lib.tensor(array).requires_grad_() for array in values)
        try:
            y = x * 1.0
            for name in names:
                SMOOTH[name](y, w)
            first = lib.autograd.grad((y * y).sum(), (x, w), create_graph=True, allow_unused=True)
            total = sum((g * g).sum() for g in first if g is not None)
            second = lib.autograd.grad(total, (x, w), allow_unused=True)
        except RuntimeError:
            return RuntimeError
        return [None if g is None else g.detach().numpy() for g in (y, *first, *second)]

    ours, theirs = run(lucid), run(torch)
    if theirs is RuntimeError:
        assert ours is RuntimeError
        return
    for a, b in zip(ours, theirs, strict=True):
        if b is None or a is None:
            assert not np.any(a if b is None else b)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_a_kept_result_that_is_written_again_is_noticed(device: str) -> None:
    x = lucid.tensor([1.0, 2.0], requires_grad=True, device=device)
    y = (x * 1).exp_()
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*'exp'"):
        y.sum().backward()


def test_a_number_saved_from_before_is_kept(device: str) -> None:
    x = lucid.tensor([1.0, 2.0], requires_grad=True, device=device)
    y = (x * 1).square_()
    y.zero_().add_(1)
    (z := (x * 3).square_()).sum().backward()
    assert z.tolist() == [9.0, 36.0] and x.grad.tolist() == [18.0, 36.0]


OVERLAPPING: dict[str, Callable[[Any, Any], Any]] = {
    "shifted": lambda lib, x: x.reshape(-1)[1:].add_(x.reshape(-1)[:-1]),
    "shifted, promoted": lambda lib, x: x.reshape(-1)[1:].mul_(x.reshape(-1)[:-1], ),
    "transposed": lambda lib, x: x.add_(x.t()),
    "row of itself": lambda lib, x: x.sub_(x[0]),
    "element of itself": lambda lib, x: x.mul_(x[0, 0]),
    "itself": lambda lib, x: x.add_(x),
    "the same elements": lambda lib, x: x.mul_(x.view(4, 4)),
    "apart": lambda lib, x: x[:2].add_(x[2:]),
    "scaled": lambda lib, x: x.reshape(-1)[1:].add_(x.reshape(-1)[:-1], alpha=2),
    "lerp": lambda lib, x: x.lerp_(x.t(), 0.5),
    "addcmul": lambda lib, x: x.addcmul_(x.t(), x),
    "clamp": lambda lib, x: x.clamp_(max=x.t()),
    "keyword": lambda lib, x: x.addcdiv_(x, tensor2=x.t()),
    "copy": lambda lib, x: x.copy_(x.t()),
    "copy of itself": lambda lib, x: x.copy_(x),
    "out": lambda lib, x: lib.add(x[0], x[1], out=x[1]),
    "out shifted": lambda lib, x: lib.add(x.view(-1)[:-1], 1, out=x.view(-1)[1:]),
    "out transposed": lambda lib, x: lib.exp(x, out=x.t()),
    "expanded": lambda lib, x: x[:1].expand(4, 4).add_(1),
    "expanded out": lambda lib, x: lib.add(x, 1, out=x[:1].expand(4, 4)),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", OVERLAPPING)
def test_overlapping_operands_as_in_pytorch(name: str, device: str) -> None:
    torch = pytest.importorskip("torch")
    values = np.random.default_rng(0).standard_normal((4, 4))

    def run(lib: Any, **place: Any) -> Any:
        x = lib.tensor(values, **place)
        try:
            OVERLAPPING[name](lib, x)
        except RuntimeError as error:
            np.testing.assert_array_equal(x.cpu().numpy(), values)
            return str(error)
        return x.cpu().numpy()

    ours, theirs = run(lucid, device=device), run(torch)
    if isinstance(theirs, str):
        assert isinstance(ours, str) and ours[:60] == theirs[:60]
    else:
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("size", [40, 40_000, 400_000])
def test_overlap_between_gaps_is_computed(size: int) -> None:
    """With gaps between the elements it is not looked for, as in PyTorch; here the result is right all the same."""
    x = lucid.rand(2, size)
    expected = (x[:, 1:] + x[:, :-1]).numpy()
    x[:, 1:].add_(x[:, :-1])
    np.testing.assert_array_equal(x[:, 1:].numpy(), expected)


@pytest.mark.parametrize("size", [10, 100_000])
@pytest.mark.parametrize("name", ["relu_", "add_", "exp_"])
def test_memory_that_cannot_be_written(name: str, size: int) -> None:
    array = np.ones(size, np.float32)
    array.flags.writeable = False
    x = lucid.tensor(0.0)
    x._array = array
    with pytest.raises(RuntimeError, match="read-only"):
        getattr(x, name)(*([x.clone()] if name == "add_" else []))
    assert x._version == 0 and array.max() == 1


def test_results_that_do_not_fit_leave_everything(device: str) -> None:
    x = lucid.tensor([1.0, 2.0], device=device)
    for call in (lambda: x.add_(lucid.ones(3, device=device)), lambda: x.add_(lucid.ones(2, 2, device=device)),
                 lambda: lucid.tensor([1, 2], device=device).mul_(0.5), lambda: lucid.tensor([1, 2], device=device).exp_(),
                 lambda: x.add_(lucid.ones(2, device="meta")), lambda: x.add_(lucid.tensor([1j, 2j], device=device))):
        with pytest.raises(RuntimeError):
            call()
    assert x.tolist() == [1.0, 2.0] and x._version == 0


@pytest.mark.parametrize("dtype", [lucid.float32, lucid.float16, lucid.bfloat16, lucid.int32, lucid.complex64])
@pytest.mark.parametrize("size", [0, 5, 100_001])
def test_scaled_operands(dtype: Any, size: int, device: str) -> None:
    x, y = (lucid.tensor(np.random.default_rng(seed).integers(-9, 9, size), device=device).to(dtype) for seed in (0, 1))
    for alpha in (3, -2, *((0.5,) if dtype != lucid.int32 else ())):
        assert_same(lucid.add(x, y, alpha=alpha), x + y * alpha)
        assert_same(lucid.sub(x, y, alpha=alpha), x - y * alpha)
        assert_same(x.clone().sub_(y, alpha=alpha), x - y * alpha)
        assert_same(lucid.sub(x, y, alpha=alpha, out=y.clone()), x - y * alpha)
    z = y.clone()
    assert_same(lucid.add(x, z, alpha=2, out=z), x + y * 2)


def test_large_bfloat16(device: str) -> None:
    x, y = lucid.rand(70_000, device=device).bfloat16(), lucid.rand(70_000, device=device).bfloat16()
    expected = x + y
    x.add_(y)
    assert x.dtype == lucid.bfloat16
    assert_same(x.float(), expected.float())


@pytest.mark.parametrize("dtype", [lucid.float32, lucid.float64, lucid.bfloat16, lucid.float16])
def test_signs_circles_and_replacements_in_place(dtype: Any) -> None:
    """Those that write where they read give what they give elsewhere, also of what is no number."""
    x = lucid.linspace(-4, 4, 101).to(dtype)
    x[:4] = lucid.tensor([math.nan, math.inf, -math.inf, -0.0]).to(dtype)
    for name, arguments in (("sign", ()), ("sin", ()), ("cos", ()), ("sinc", ()), ("nan_to_num", ()), ("nan_to_num", (-0.0, 3.0))):
        expected, y = getattr(x, name)(*arguments), x.clone()
        assert getattr(y, f"{name}_")(*arguments) is y and y._version == 1
        np.testing.assert_array_equal(y.float().numpy(), expected.float().numpy())
    assert lucid.equal(x[:4].nan_to_num(7.0, 8.0, -8.0), lucid.tensor([7.0, 8.0, -8.0, -0.0]).to(dtype))
    assert x[:1].nan_to_num(-0.0).signbit().item() and not x[:1].nan_to_num(0.0).signbit().item()
    assert lucid.equal(x[:4].sign(), lucid.tensor([0.0, 1.0, -1.0, 0.0]).to(dtype))


@pytest.mark.parametrize("dtype", [lucid.float32, lucid.float64, lucid.bfloat16])
@pytest.mark.parametrize("size", [64, 3000, 70_000])
def test_formulas_write_where_they_read(size: int, dtype: Any) -> None:
    """At any size, with numbers and tensors, and with gradients."""
    x = (lucid.rand(size) * 6 - 3).to(dtype)
    y = lucid.rand(size).to(dtype) + 1
    functions: list[Callable[[Tensor], Tensor]] = [
        lambda t: t.remainder_(0.7), lambda t: t.remainder_(y), lambda t: t.remainder_(y[:1]), lambda t: t.floor_divide_(y),
        lambda t: t.sign_(), lambda t: t.rsqrt_(), lambda t: t.pow_(1.5), lambda t: t.pow_(y[3]), lambda t: t.nan_to_num_(),
        lambda t: lucid.nn.functional.elu_(t), lambda t: lucid.nn.functional.hardswish(t, inplace=True)]
    elsewhere: list[Callable[[Tensor], Tensor]] = [
        lambda t: t.remainder(0.7), lambda t: t.remainder(y), lambda t: t.remainder(y[:1]), lambda t: t.floor_divide(y),
        lambda t: t.sign(), lambda t: t.rsqrt(), lambda t: t.pow(1.5), lambda t: t.pow(y[3]), lambda t: t.nan_to_num(),
        lambda t: lucid.nn.functional.elu(t), lambda t: lucid.nn.functional.hardswish(t)]
    for inside, outside in zip(functions, elsewhere, strict=True):
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        z = a * 1
        assert inside(z) is z and z._version >= 1
        expected = outside(b * 1)
        np.testing.assert_allclose(z.detach().float().numpy(), expected.detach().float().numpy(), rtol=lucid.finfo(dtype).eps * 4)
        if z.requires_grad and expected.requires_grad:
            z.backward(y), expected.backward(y)
            np.testing.assert_allclose(a.grad.float().numpy(), b.grad.float().numpy(), rtol=lucid.finfo(dtype).eps * 8, atol=1e-6)


def test_a_formula_reads_no_element_that_it_has_written() -> None:
    """Where a part with gaps lies in what is written, a new array is computed first."""
    base = lucid.arange(1.0, 200_001.0)
    whole, part = base[:100_000], base[::2]
    expected = whole.remainder(part)
    whole.remainder_(part)
    assert lucid.equal(whole, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", ["add", "mul"])
def test_one_rule_for_large_arrays(name, dtype):
    """In place, into `out`, into a view and as a sum of gradients the same function writes an array of one size."""
    def ours(call, size):
        """Whether our kernel, and not NumPy's function, writes."""
        x, y = (lucid.ones(size, dtype=dtype) for _ in range(2))
        called = []
        call(x, y)  # imports
        sys.setprofile(lambda frame, event, _: called.append((frame.f_globals.get("__name__"), frame.f_code.co_name)))
        try:
            call(x, y)
        finally:
            sys.setprofile(None)
        return ("lucid_kernels.cpu.elementwise.elementwise", name) in called

    ways = [lambda x, y: getattr(x, f"{name}_")(y), lambda x, y: getattr(lucid, name)(x, y, out=x),
            lambda x, y: getattr(x.view(-1), f"{name}_")(y), lambda x, y: getattr(operator, f"i{name}")(x, y),
            lambda x, y: getattr(x, f"{name}_")(2.0)]
    if name == "add":
        ways.append(lambda x, y: backends.TABLES[np.ndarray]["add"](x._array, y._array, x._array))
    for size in (1000, (1 << 16) - 1, 1 << 16, (1 << 17) - 1, 1 << 17, (1 << 18) - 1, 1 << 18):
        large = size >= {"float16": 1 << 16, "float32": 1 << 18, "float64": 1 << 17}[dtype]
        assert [ours(call, size) for call in ways] == [large] * len(ways), size
