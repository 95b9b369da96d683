"""Operations of the GPU that are one launch, in half precision and of any layout as well."""
from __future__ import annotations

from typing import Any

import pytest

import lucid
from lucid import backends
from lucid.backends.gpu_probe import gpu_problem, simulated

if gpu_problem() is not None or not simulated():
    pytest.skip("launches are counted on the simulator", allow_module_level=True)

gpu = backends.gpu_module()

from cupy import streams  # noqa: E402 - the simulator's, once the backend is there

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


def test_a_plan_serves_all_numbers() -> None:
    x = lucid.rand(6, 10).to("gpu")
    x * 2.5
    for number in (1.5, -0.0, 7.25, float("inf")):
        assert (x * number).tolist() == (x.cpu() * number).tolist()
        assert (number - x).tolist() == (number - x.cpu()).tolist()


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
def test_a_bias_is_one_launch_beside_the_products(dtype: Any) -> None:
    for shape in ((6, 10), (2, 3, 10)):
        x, weight, bias = (lucid.rand(*lengths).to(dtype).to("gpu")._array for lengths in (shape, (5, 10), (5,)))
        g = lucid.rand(*shape[:-1], 5).to(dtype).to("gpu")._array
        assert operations(lambda x=x, weight=weight, bias=bias: gpu.TABLE["linear"](x, weight, bias)) == 2
        assert operations(lambda x=x, weight=weight, g=g: gpu.TABLE["linear_grad"](g, x, weight, with_bias=True)) == 3


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
