"""Operations of the GPU that are one launch, in half precision and of any layout as well."""
from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import backends
from lucid.backends.gpu_probe import gpu_problem, simulated

if gpu_problem() is not None or not simulated():
    pytest.skip("launches are counted on the simulator", allow_module_level=True)

gpu = backends.gpu_module()

import cupy  # noqa: E402 - the simulator's, once the backend is there
from cupy import streams  # noqa: E402 - the simulator's, once the backend is there
from lucid_kernels.cuda.runtime import plans  # noqa: E402

UNARY = """relu sigmoid tanh silu exp log sqrt rsqrt neg abs sin floor square reciprocal isnan erf lgamma sign""".split()
BINARY = "add sub mul div maximum minimum fmod remainder floor_divide eq lt relu_grad tanh_grad hypot logaddexp".split()
REDUCTIONS = "sum mean prod max min norm2 any all argmax logsumexp nansum".split()


def operations(function: Any) -> int:
    before = streams.operations()
    function()
    return int(streams.operations() - before)


@pytest.mark.parametrize("dtype", [lucid.float16, lucid.bfloat16, lucid.float32])
def test_one_operation(dtype: Any) -> None:
    x = (lucid.rand(6, 10) + 0.5).to(dtype).to("gpu")
    for a, b in ((x, x + 1), (x.t(), x.t() + 1), (x[:, 1:], x[:1, 1:])):
        a, b = a._array, b._array
        for name in UNARY:
            assert operations(lambda a=a, name=name: gpu.TABLE[name](a)) == 1, name
        for name in BINARY:
            assert operations(lambda a=a, b=b, name=name: gpu.TABLE[name](a, b)) == 1, name
        for name in "add sub mul div maximum lt remainder".split():
            assert operations(lambda a=a, name=name: gpu.TABLE[name](a, 1.5)) == 1, name
        for name in REDUCTIONS:
            assert operations(lambda a=a, name=name: gpu.TABLE[name](a, axis=0, keepdims=True)) == 1, name
        assert operations(lambda a=a: gpu.TABLE["var"](a, axis=1, keepdims=False, correction=1)) == 1
        assert operations(lambda a=a: gpu.TABLE["std_mean"](a, axis=1, keepdims=False, correction=1)) == 1
        assert operations(lambda a=a: gpu.TABLE["dropout"](a, p=0.5, seed=1, offset=0)) == 1 + (not a._c_contiguous)
        assert operations(lambda a=a: gpu.TABLE["power"](a, 2)) == 1
        assert operations(lambda a=a: gpu.TABLE["clip"](a, 0.6, 0.8)) == 1
        assert operations(lambda a=a: gpu.TABLE["fill"](a, value=2.0)) == 1
        assert operations(lambda a=a: gpu.TABLE["cast"](a, dtype=lucid.float64)) == 1
        assert operations(lambda a=a: gpu.TABLE["copy"](a)) == 1


@pytest.mark.parametrize("dtype", [lucid.float16, lucid.float32, lucid.int64])
def test_a_choice_by_a_mask(dtype: Any) -> None:
    x = (lucid.rand(6, 10) * 4).to(dtype).to("gpu")
    mask = lucid.rand(6, 10).to("gpu") > 0.5
    number = 2
    other = x + x
    assert operations(lambda: lucid.where(mask, x, other)) == operations(lambda: lucid.where(mask[:1], number, other)) == 1
    assert operations(lambda: x.masked_fill(mask, number)) == operations(lambda: x.masked_fill_(mask[0], number)) == 1
    assert x[:, mask[0]].cpu().tolist() == lucid.full((6, int(mask[0].sum())), number, dtype=dtype).tolist()


WHOLE = "add sub mul eq lt ge maximum minimum bitwise_and bitwise_xor".split()


@pytest.mark.parametrize("dtype", [lucid.bool, lucid.int16, lucid.int64])
def test_integers_and_bools(dtype: Any) -> None:
    """Sums, products and differences wrap around; a plan repeats the call with other numbers."""
    lucid.ones(1, device="gpu") + 1  # the first of all makes the flag of errors
    low, high = (0, 1) if dtype == lucid.bool else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for seed in range(2):
        a, b = np.random.default_rng(seed).integers(low, high, (2, 5, 7), np.int64, endpoint=True).astype(dtype)
        a[0, :3] = b[0, :3] = low, high, low
        for view in (lambda x: x, lambda x: x.T, lambda x: x[:, 1:]):
            x, y = view(cupy.asarray(a)), view(cupy.asarray(b))
            for name in WHOLE:
                if dtype == lucid.bool and name == "sub":
                    continue
                assert operations(lambda x=x, y=y, name=name: gpu.TABLE[name](x, y)) == 1, name
                expected = backends.kernel_of(np.ndarray, name)(view(a), view(b))
                found = gpu.TABLE[name](x, y)
                assert found.dtype == expected.dtype, name
                np.testing.assert_array_equal(found.get(), expected, name)
            np.testing.assert_array_equal(gpu.TABLE["bitwise_invert"](x).get(), ~view(a))
            np.testing.assert_array_equal(gpu.TABLE["add"](x, y[:1]).get(), view(a) + view(b)[:1])
            kept = x.copy()
            assert gpu.TABLE["add"](kept, y, out=kept) is kept
            np.testing.assert_array_equal(kept.get(), view(a) + view(b))


@pytest.mark.parametrize("dtype", [lucid.int64, lucid.uint8])
def test_integers_and_numbers(dtype: Any) -> None:
    """One launch and one plan for all numbers, of all digits; at the ends of the dtype, and of divisors of either sign."""
    lucid.ones(1, device="gpu") + 1  # the first of all makes the flag of errors
    limits = np.iinfo(dtype)
    numbers = [1, 3, 7, 64, limits.max, *([-1, -3, limits.min] if limits.min else [])]
    x = lucid.tensor([0, 1, 2, 5, 100, limits.max, limits.min, limits.min // 3, limits.max - 1], dtype=dtype)
    y = x.to("gpu")
    functions = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.eq, operator.lt, operator.and_,
                 lucid.fmod, lambda a, b: b - a)
    for function in functions:
        for number in numbers:
            expected = function(x, number)
            found = function(y, number)
            assert found.dtype == expected.dtype and found.tolist() == expected.tolist(), (function, number)
            assert operations(lambda function=function, number=number: function(y, number)) == 1
    for function, numbers in ((operator.lshift, [0, 1, 63]), (operator.rshift, [0, 1, 63]), (operator.pow, [0, 3])):
        for number in numbers:
            assert function(y, number).tolist() == function(x, number).tolist()
            assert operations(lambda function=function, number=number: function(y, number)) == 1
    counts = lucid.tensor([0, 1, 7, 8, 63, 64, 100, 15, 2], dtype=dtype)
    assert (y << counts.to("gpu")).tolist() == (x << counts).tolist() and (y >> counts.to("gpu")).tolist() == (x >> counts).tolist()
    divisor = lucid.tensor([1, 2, 3, 7, 100, limits.max, 5, 2, limits.max - 1], dtype=dtype) * (-1 if limits.min else 1)
    for function in (operator.floordiv, operator.mod, lucid.fmod):
        assert function(y, divisor.to("gpu")).tolist() == function(x, divisor).tolist()
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            function(y, y).tolist()


def test_a_plan_keeps_all_digits_of_whole_numbers() -> None:
    y = lucid.arange(4).to("gpu")
    for number in (5, 2**53 + 1, -(2**62) - 1, 2**63 - 1, 2**60 + 3):
        for function in (operator.add, operator.mul, operator.eq, operator.floordiv):
            assert function(y + number, number).tolist() == function(y.cpu() + number, number).tolist()
    with pytest.raises(OverflowError):
        y + 2**63
    assert ((y + 2**60 + 1) % 1000).tolist() == [(2**60 + 1 + k) % 1000 for k in range(4)]


def test_whole_numbers_of_two_dtypes_and_beside_others() -> None:
    x, y = lucid.arange(6, device="gpu"), lucid.arange(6, device="gpu", dtype=lucid.int32)
    assert (x + y).dtype == lucid.int64 and (x + y).tolist() == [0, 2, 4, 6, 8, 10]
    assert (x + 0.5).tolist() == [0.5, 1.5, 2.5, 3.5, 4.5, 5.5] and (x + 2).tolist() == [2, 3, 4, 5, 6, 7]
    assert (x + (1 << 60)).tolist() == [(1 << 60) + k for k in range(6)]
    assert (x > 2.5).tolist() == (x > 2).tolist() == [False] * 3 + [True] * 3


def test_a_plan_serves_all_numbers() -> None:
    x = lucid.rand(6, 10).to("gpu")
    x * 2.5
    for number in (1.5, -0.0, 7.25, float("inf")):
        assert (x * number).tolist() == (x.cpu() * number).tolist()
        assert (number - x).tolist() == (number - x.cpu()).tolist()


@pytest.mark.parametrize("dtype", [lucid.int64, lucid.int32, lucid.uint8])
def test_division_of_whole_numbers(dtype: Any) -> None:
    """One launch, and one that looks for zeros among the divisors; the host waits for none."""
    limits = (0, 255) if dtype == lucid.uint8 else (-9, 9)
    a = lucid.tensor([7, 200 if dtype == lucid.uint8 else -7, 8, limits[0], limits[1]], dtype=dtype)
    b = lucid.tensor([2, 3, 8 if dtype == lucid.uint8 else -3, 4, 5], dtype=dtype)
    x, y = a.to("gpu"), b.to("gpu")
    for call, launches in ((lambda a, b: lucid.div(a, b, rounding_mode="trunc"), 2), (lambda a, b: a // b, 2), (lambda a, b: a % b, 2),
                           (lambda a, b: lucid.fmod(a, b), 2), (lambda a, b: lucid.div(a, 3, rounding_mode="trunc"), 1),
                           (lambda a, b: a // 3, 1), (lambda a, b: 100 // b, 2)):
        assert call(x, y).tolist() == call(a, b).tolist()
        assert operations(lambda call=call: call(x, y)) == launches
    zero = lucid.zeros(1, dtype=dtype, device="gpu")
    for call in (lambda: x // zero, lambda: lucid.div(x, zero, rounding_mode="trunc"), lambda: x % zero, lambda: lucid.fmod(x, zero)):
        found = call()
        with pytest.raises(RuntimeError, match="ZeroDivisionError: op '.*' divides integers by zero"):
            found.tolist()
    small, three = x.to(lucid.int16), lucid.tensor(3, device="gpu")
    assert lucid.div(small, three, rounding_mode="trunc").tolist() == (small.cpu().double() / 3).trunc().tolist()


def test_numbers_for_functions_of_cupys() -> None:
    """Which take no other classes than Python's, and no plan."""
    x = lucid.tensor([1, 5, 3], dtype=lucid.int32, device="gpu")
    for _ in range(2):
        assert x.clamp(min=2).tolist() == [2, 5, 3] and x.clamp(2, 4).tolist() == [2, 4, 3]
        assert (x / 2).tolist() == [0.5, 2.5, 1.5] and (6 / x).tolist() == [6, 1.2000000476837158, 2]


def test_a_number_is_not_rounded_to_half_precision_in_arithmetic() -> None:
    x = lucid.tensor([3.0], dtype=lucid.float16, device="gpu")
    y = lucid.ones(5, dtype=lucid.bfloat16, device="gpu")
    for function in (lambda: y * 2.5, lambda: 1 - y, lambda: y / 3):
        assert operations(function) == 1
    assert (y * 1.00390625 * 1.00390625).tolist() == [1.0] * 5  # half a unit in the last place: to even
    assert (x * 1.0002).item() == 3.0 and (x * 1.0009).item() == 3.001953125


def test_batches_are_counted_without_a_launch() -> None:
    layer, x = lucid.nn.BatchNorm2d(3).to("gpu"), lucid.rand(4, 3, 5, 5).to("gpu")
    plain = (x, lucid.zeros(3).to("gpu"), lucid.ones(3).to("gpu"), layer.weight, layer.bias, True)
    lucid.nn.functional.batch_norm(*plain), layer(x)  # compiled and planned
    wanted = operations(lambda: lucid.nn.functional.batch_norm(*plain))
    counter, version = layer.num_batches_tracked, layer.num_batches_tracked._version
    for _ in range(3):
        assert operations(lambda: layer(x)) == wanted
    assert (counter.item(), counter._version) == (4, version + 3) and layer.num_batches_tracked is counter


@pytest.mark.parametrize("dtype", [lucid.float16, lucid.bfloat16, lucid.float32])
def test_a_bias_and_its_gradient_are_steps_of_the_products(dtype: Any) -> None:
    for shape in ((6, 10), (2, 3, 10)):
        x, weight, bias = (lucid.rand(*lengths).to(dtype).to("gpu")._array for lengths in (shape, (5, 10), (5,)))
        g = lucid.rand(*shape[:-1], 5).to(dtype).to("gpu")._array
        gpu.TABLE["linear"](x, weight, bias), gpu.TABLE["linear_grad"](g, x, weight, with_bias=True)  # the library is tried
        assert operations(lambda x=x, weight=weight, bias=bias: gpu.TABLE["linear"](x, weight, bias)) == 1
        assert operations(lambda x=x, weight=weight, g=g: gpu.TABLE["linear_grad"](g, x, weight, with_bias=True)) == 2


@pytest.mark.parametrize("dtype", [lucid.float32, lucid.bfloat16])
def test_the_gradient_of_an_embedding(dtype: Any) -> None:
    """One launch fills with zeros, and one adds."""
    g, indices = lucid.rand(3, 7, 6).to(dtype), lucid.tensor([[0, 4, 4, 1, 0, 0, 2]] * 3)
    for places in (indices, indices.t()):
        g, places = g.reshape(-1, 6), places.reshape(-1).to("gpu")
        given = g.to("gpu")._array, places._array
        found = lucid.tensor(gpu.TABLE["embedding_grad"](*given, rows=5, padding_idx=1).get())
        assert operations(lambda given=given: gpu.TABLE["embedding_grad"](*given, rows=5, padding_idx=1)) == 2
        expected = lucid.zeros(5, 6, dtype=lucid.float32).index_add(0, places.cpu(), g.float())
        expected[1] = 0
        assert (found - expected).abs().max() < (1e-6 if dtype == lucid.float32 else 0.05)


EXTREMES = {
    "max": lambda t: t.max(), "min": lambda t: t.min(), "amax": lambda t: t.amax(1), "amin": lambda t: t.amin((0, 1), True),
    "norm1": lambda t: lucid.linalg.vector_norm(t, 1), "norm2": lambda t: lucid.linalg.vector_norm(t, 2, 0),
    "norm3": lambda t: lucid.linalg.vector_norm(t, 3, 1), "norm inf": lambda t: lucid.linalg.vector_norm(t, float("inf"), 1),
    "norm -inf": lambda t: lucid.linalg.vector_norm(t, float("-inf"), 0, True), "mean": lambda t: t.mean(1)}


@pytest.mark.parametrize("dtype", [lucid.bfloat16, lucid.float32])
@pytest.mark.parametrize("name", EXTREMES)
def test_gradients_of_extremes_means_and_norms(name: str, dtype: Any) -> None:
    """One launch each way, also where elements tie, are zero or NaN."""
    function = EXTREMES[name]
    lucid.manual_seed(0)
    x = lucid.randint(-3, 4, (9, 7)).to(dtype)
    holed = x.clone()
    holed[2, 3] = holed[2, 5] = float("nan")
    for values in (x, holed):
        expected, leaf = values.clone().requires_grad_(), values.to("gpu").requires_grad_()
        y = function(leaf)
        assert operations(lambda leaf=leaf: function(leaf)) == 1
        wanted = function(expected)
        g = lucid.rand(wanted.shape).to(dtype)
        tolerance = {"rtol": 1e-5 if dtype == lucid.float32 else 2e-2, "atol": 1e-6, "equal_nan": True}
        assert y.shape == wanted.shape and lucid.allclose(y.cpu().float(), wanted.float(), **tolerance)
        upstream = g.to("gpu")
        (found,) = lucid.autograd.grad(y, leaf, upstream, retain_graph=True)
        assert operations(lambda y=y, leaf=leaf, g=upstream: lucid.autograd.grad(y, leaf, g, retain_graph=True)) == 1
        wanted.backward(g)
        assert lucid.allclose(found.cpu().float(), expected.grad.float(), **tolerance)
        (again,) = lucid.autograd.grad(y, leaf, g.to("gpu"), create_graph=True)
        assert lucid.allclose(again.detach().cpu().float(), found.cpu().float(), **tolerance)


@pytest.mark.parametrize("dtype", [lucid.float32, lucid.float64, lucid.int32, lucid.int64])
def test_elements_added_by_index(dtype: Any) -> None:
    """One launch copies, or makes zeros, and one adds."""
    lucid.ones(1, device="gpu") + 1  # the first of all makes the flag of errors
    x, rows = lucid.ones(5, 9, dtype=dtype, device="gpu"), lucid.ones(12, 9, dtype=dtype, device="gpu")
    index = (lucid.arange(12) % 5).to("gpu")
    along = index[:, None].expand(12, 9)._array.copy()
    table = gpu.TABLE
    for accumulate in (False, True):
        assert operations(lambda a=accumulate: table["scatter"](x._array, along, rows._array, axis=0, accumulate=a)) == 2
        assert operations(lambda a=accumulate: table["scatter"](x._array, along, 2, axis=0, accumulate=a)) == 3
        assert operations(lambda a=accumulate: table["index_put"](
            x._array, rows._array, index=(index._array,), accumulate=a)) == 2
        assert operations(lambda a=accumulate: table["index_put"](
            x._array, rows._array, index=(index._array,), accumulate=a, out=x._array)) == 1
    assert operations(lambda: table["index_add"](x._array, index._array, rows._array, axis=0)) == 2
    assert operations(lambda: table["gather_grad"](rows._array, along, shape=(5, 9), axis=0)) == 2
    assert operations(lambda: table["scatter_new"](rows._array, shape=(5, 9), index=(index._array,), unique=False)) == 2


def test_writes_by_index_into_memory_that_is_read() -> None:
    """Elements as indices and as values, also by a plan that was made for other memory."""
    for _ in range(2):
        x, y = lucid.tensor([2, 0, 1, 7], device="gpu"), lucid.tensor([2, 0, 1, 7], device="gpu")
        assert y[:3].scatter_(0, x[:3], x[1:]).tolist() == [1, 7, 0]
        assert x[:3].scatter_(0, x[:3], x[1:]).tolist() == [1, 7, 0]
        x[lucid.tensor([1, 2, 3], device="gpu")] = x[:3]
        assert x.tolist() == [1, 1, 7, 0]


def test_sums_in_order_when_deterministic_algorithms_are_required() -> None:
    """Large numbers that cancel: another order gives another sum."""
    source = lucid.tensor([1e8, 1.0, -1e8, 1.0] * 500, device="gpu")
    index = lucid.zeros(2000, dtype=lucid.int64, device="gpu")
    expected = lucid.zeros(2).index_add(0, index.cpu(), source.cpu())
    lucid.use_deterministic_algorithms(True)
    try:
        for _ in range(2):
            found = lucid.zeros(2, device="gpu").index_add(0, index, source)
            assert found.tolist() == expected.tolist()
            assert found.tolist() == lucid.zeros(2, device="gpu").scatter_add(0, index, source).tolist()
            assert found.tolist() == lucid.zeros(2, device="gpu").index_put((index,), source, accumulate=True).tolist()
            assert lucid.zeros(2, device="gpu").scatter(0, index, source).tolist() == [1.0, 0.0]
    finally:
        lucid.use_deterministic_algorithms(False)


@pytest.mark.parametrize(("batch", "launches"), [(2, 1), (1700, 2)])
@pytest.mark.parametrize("dtype", [lucid.float32, lucid.bfloat16])
@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN"])
def test_a_step_of_a_recurrent_network(mode: str, dtype: Any, batch: int, launches: int) -> None:
    """A kernel for each step, both ways, and a product where the state is large."""
    steps = []
    for times in (3, 7):
        net = getattr(lucid.nn, mode)(4, 5).to(dtype).to("gpu")
        x = lucid.rand(times, batch, 4).to(dtype).to("gpu")
        output, _ = net(x)
        g = lucid.ones_like(output)
        lucid.autograd.grad(output, net.weight_hh_l0, g, retain_graph=True)
        forward = operations(lambda net=net, x=x: net(x))
        backward = operations(lambda output=output, net=net, g=g: lucid.autograd.grad(
            output, net.weight_hh_l0, g, retain_graph=True))
        steps.append((forward, backward))
    assert [after - before for before, after in zip(*steps, strict=True)] == [4 * launches] * 2


def test_the_gradient_of_the_largest_of_all() -> None:
    """Two launches of many elements, and one for the gradient."""
    x = lucid.rand(130, 1280).to(lucid.bfloat16)
    x[3, 4] = x[5, 6] = 2
    leaf = x.to("gpu").requires_grad_()
    y = leaf.max()
    assert operations(lambda: leaf.max()) == 2
    g = lucid.ones_like(y)
    lucid.autograd.grad(y, leaf, g, retain_graph=True)
    assert operations(lambda: lucid.autograd.grad(y, leaf, g, retain_graph=True)) == 1
    found = lucid.autograd.grad(y, leaf)[0].cpu()
    assert found[3, 4] == found[5, 6] == 0.5 and found.abs().sum() == 1


@pytest.mark.parametrize("dtype", [lucid.bfloat16, lucid.float32])
def test_gradients_of_what_selects_elements(dtype: Any) -> None:
    x = lucid.tensor([[3.0, 1, 2, 5], [9, 7, 8, 0], [2, 4, 6, 1]]).to(dtype)
    for function in (lambda t: t.max(1)[0], lambda t: t.min(0, keepdim=True)[0], lambda t: t.sort(1)[0],
                     lambda t: t.sort(0, descending=True)[0]):
        expected, leaf = x.clone().requires_grad_(), x.to("gpu").requires_grad_()
        y, wanted = function(leaf), function(expected)
        g = lucid.rand(wanted.shape).to(dtype)
        upstream = g.to("gpu")
        lucid.autograd.grad(y, leaf, upstream, retain_graph=True)
        assert operations(lambda y=y, leaf=leaf, g=upstream: lucid.autograd.grad(y, leaf, g, retain_graph=True)) == 1
        (found,) = lucid.autograd.grad(y, leaf, upstream, create_graph=True)
        assert found.detach().tolist() == lucid.autograd.grad(wanted, expected, g)[0].tolist()


def test_gradients_of_reductions_of_large_arrays() -> None:
    """One launch that reads the array, beside those for what is reduced."""
    x = lucid.rand(130, 128, dtype=lucid.float64)
    for function, launches in ((lambda t: t.var(1), 3), (lambda t: t.logsumexp((0, 1)), 1)):
        expected = x.clone().requires_grad_()
        (function(expected) * 2).sum().backward()
        leaf = x.to("gpu").requires_grad_()
        y = function(leaf)
        g = lucid.full_like(y, 2)
        lucid.autograd.grad(y, leaf, g, retain_graph=True)
        assert operations(lambda y=y, leaf=leaf, g=g: lucid.autograd.grad(y, leaf, g, retain_graph=True)) == launches
        found = lucid.autograd.grad(y, leaf, g)[0].cpu()
        assert (found - expected.grad).abs().max() < 1e-14


def test_bags_of_rows() -> None:
    indices, weight = lucid.tensor([0, 2, 1, 1, 0], device="gpu")._array, lucid.rand(3, 8).to("gpu")._array
    lucid.ones(1, device="gpu") + 1  # the first of all makes the flag of errors
    table, offsets = gpu.TABLE, lucid.tensor([0, 2, 2], device="gpu")._array
    edges = table["bag_edges"](offsets, count=5, include_last=False)
    assert operations(lambda: table["bag_edges"](offsets, count=5, include_last=False)) == 1
    assert operations(lambda: table["bag_sums"](weight, indices, edges, None, None)) == 1
    assert operations(lambda: table["bag_maxima"](weight, indices, edges)) == 1
    assert operations(lambda: table["bag_indices"](edges, count=5)) == 1
    assert operations(lambda: table["bag_lengths"](edges, dtype=weight.dtype)) == 1


def test_elements_combined_by_index() -> None:
    """A copy and a launch, also of many elements; a mask is one launch, and more arrays of indices than three one more."""
    index = (lucid.arange(1200) % 5).to("gpu")[:, None].expand(1200, 9).contiguous()
    for dtype in (lucid.float32, lucid.int64):
        x, rows = lucid.ones(5, 9, dtype=dtype, device="gpu"), lucid.ones(1200, 9, dtype=dtype, device="gpu")
        for reduce in ("prod", "amax", "amin"):
            call = functools.partial(gpu.TABLE["scatter_reduce"], x._array, index._array, rows._array, axis=0, reduce=reduce)
            call()
            assert operations(call) == 2
    x = lucid.rand(4, 3, 2, 5).to("gpu")
    mask, row, index = (x > 0.5)._array, lucid.rand(5).to("gpu"), [lucid.zeros(7, dtype=lucid.int64, device="gpu")] * 4
    for call in (lambda: x.__setitem__(lucid.as_tensor(mask), 0.0), lambda: x.__setitem__(lucid.as_tensor(mask[..., 0]), row)):
        call()
        assert operations(call) == 1
    for accumulate in (False, True):
        put = functools.partial(x.index_put_, index, lucid.ones(7, device="gpu"), accumulate=accumulate)
        put()
        assert operations(put) - operations(lambda: [gpu.TABLE["check_bounds"](i._array, low=0, high=2, message="") for i in index]) == 2


@pytest.mark.parametrize("count", [100, 1500, 5000])
def test_the_loss_of_labels(count: int) -> None:
    """A launch or two, and one for the gradient, of the mean of thousands of labels another one for their weights."""
    x, target = lucid.rand(count, 3), lucid.arange(count) % 3
    for reduction in ("mean", "sum"):
        expected, leaf = x.clone().requires_grad_(), x.to("gpu").requires_grad_()
        call = functools.partial(lucid.nn.functional.nll_loss, leaf, target.to("gpu"), reduction=reduction)
        loss, g = call(), lucid.ones((), device="gpu")
        assert operations(call) == 1 + (count > 1024)
        (found,) = lucid.autograd.grad(loss, leaf, g, retain_graph=True)
        assert operations(lambda loss=loss, leaf=leaf, g=g: lucid.autograd.grad(loss, leaf, g, retain_graph=True)) == (
            1 + (count > 4096 and reduction == "mean"))
        wanted = lucid.nn.functional.nll_loss(expected, target, reduction=reduction)
        assert abs(loss.item() - wanted.item()) < 1e-4 * abs(wanted.item())
        assert (found.cpu() - lucid.autograd.grad(wanted, expected)[0]).abs().max() < 1e-6


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN"])
def test_steps_of_packed_sequences_have_plans(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sequences of other lengths are computed by the plans of the numbers of rows, and those of one length by one plan."""
    from lucid_kernels.cuda.recurrent import recurrent

    if not plans.ENABLED:
        pytest.skip("without plans there are none")
    calls: list[str] = []
    for each in ("_launch", "_launch_small"):
        launched = getattr(recurrent, each)
        monkeypatch.setattr(recurrent, each, lambda *rest, launched=launched: (calls.append(rest[0]), launched(*rest))[1])
    lucid.manual_seed(0)
    cpu = getattr(lucid.nn, mode)(4, 5)
    net = getattr(lucid.nn, mode)(4, 5)
    net.load_state_dict(cpu.state_dict())
    net.to("gpu")
    counts = []
    for lengths in ((3, 2), (5, 1), (2, 2), (4, 2), (6, 5), (2, 2)):
        x = lucid.rand(max(lengths), 2, 4)
        results = []
        for which, device in ((cpu, "cpu"), (net, "gpu")):
            calls.clear()
            packed = lucid.nn.utils.rnn.pack_padded_sequence(x.to(device), list(lengths))
            output = which(packed)[0].data
            output.square().sum().backward()
            results += [output.detach().cpu(), *[p.grad.cpu() for p in which.parameters()]]
            which.zero_grad()
        half = len(results) // 2
        assert all((a - b).abs().max() < 1e-5 for a, b in zip(results[:half], results[half:], strict=True))
        counts.append(len(calls))
    assert counts[0] == 4 and counts[1] == counts[3] == counts[4] == 0  # both ways, of one row and of two
    assert counts[2] > 0 == counts[5]


def test_arrays_with_negative_strides_have_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with other memory, and as what is written to."""
    if not plans.ENABLED:
        pytest.skip("without plans there are none")
    from lucid_kernels.cuda.elementwise import strides

    calls: list[int] = []
    launched = strides.run
    monkeypatch.setattr(strides, "run", lambda *rest, **options: (calls.append(1), launched(*rest, **options))[1])
    for number in range(3):
        x = cupy.asarray(np.arange(35.0).reshape(5, 7) + number)
        for view in (x[::-1], x[:, ::-1], x[::-2, 1:6][:, ::-1], x.T[::-1]):
            calls.clear()
            np.testing.assert_array_equal(gpu.TABLE["copy"](view).get(), view.get())
            np.testing.assert_allclose(gpu.TABLE["exp"](view).get(), np.exp(view.get()))
            np.testing.assert_array_equal(gpu.TABLE["add"](view, x[0, 0]).get(), view.get() + x[0, 0].get())
            np.testing.assert_allclose(gpu.TABLE["sum"](view, axis=0, keepdims=False).get(), view.get().sum(0))
            expected = view.get() + 1
            gpu.TABLE["add"](view, cupy.ones(()), out=view)
            np.testing.assert_array_equal(view.get(), expected)
            assert bool(calls) == (number == 0)


@pytest.mark.parametrize("dtype", [lucid.bfloat16, lucid.float32])
def test_gradients_of_normalisation(dtype: Any) -> None:
    """Two launches for all three, of few rows and of many, of small images and of large ones."""
    for rows in (9, 300):
        x, weight = lucid.rand(rows, 24).to(dtype).to("gpu")._array, lucid.rand(24).to(dtype).to("gpu")._array
        _, mean, rstd = gpu.TABLE["layer_norm"](x, weight, weight, normalized_ndim=1, eps=1e-5)
        assert operations(lambda g=(x, x, weight, mean, rstd): gpu.TABLE["layer_norm_grad"](*g, normalized_ndim=1)) == 2
        assert operations(lambda g=(x, x, weight, rstd): gpu.TABLE["rms_norm_grad"](*g, normalized_ndim=1)) == 2
    for size in (4, 80):
        x, weight = lucid.rand(3, 4, size, size).to(dtype).to("gpu")._array, lucid.rand(4).to(dtype).to("gpu")._array
        _, mean, rstd = gpu.TABLE["group_norm"](x, weight, weight, groups=2, eps=1e-5)
        assert operations(lambda g=(x, x, weight, mean, rstd): gpu.TABLE["group_norm_grad"](*g, groups=2)) == 2
