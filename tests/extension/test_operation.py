"""Operations of users: values, gradients, devices, half precision, batches, compiled functions, errors."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

import lucid
from lucid import extension as ext
from lucid.autograd import gradcheck, gradgradcheck
from lucid.levels import batching

from . import kernels
from .kernels import gated, reference


def arguments(*shape, device="cpu", dtype=lucid.float32, grad=False):
    return [lucid.randn(*s, dtype=dtype).to(device).requires_grad_(grad) for s in (shape, shape, shape[-1:])]


@pytest.mark.parametrize("shape", [(4, 7), (0, 5), (2, 2, 33), (3, 0)])
def test_values_and_gradients(device, shape):
    given = arguments(*shape, device=device, grad=True)
    y, scale = gated(*given)
    expected, scales = reference(*given)
    assert lucid.allclose(y, expected, atol=1e-5)
    if shape[-1]:
        assert lucid.allclose(scale, scales, atol=1e-5)
    assert not scale.requires_grad, "the gradient knows nothing of it"
    g = lucid.randn(*shape).to(device)
    found = lucid.autograd.grad(y, given, g)
    for mine, other in zip(found, lucid.autograd.grad(expected, given, g), strict=True):
        assert lucid.allclose(mine, other, atol=1e-5)


def test_derivatives_of_two_orders(device):
    given = arguments(*((3, 5) if device == "cpu" else (2, 2)), device=device, dtype=lucid.float64, grad=True)
    assert gradcheck(lambda *args: gated(*args)[0], given)
    assert gradgradcheck(lambda *args: gated(*args)[0], given)


def test_arguments_that_depend_on_each_other():
    x, _, weight = arguments(3, 5, dtype=lucid.float64, grad=True)
    assert gradgradcheck(lambda x, w: gated(x, x * x, w)[0], (x, weight))
    same = ext.op("same(a, b) -> y", composed=lambda a, b: a * b * b)
    assert gradgradcheck(lambda x: same(x, x), (x,))
    x.grad = None
    same(x, x).sum().backward()
    assert lucid.allclose(x.grad, 3 * x * x)


@pytest.mark.parametrize("dtype", [lucid.float16, lucid.bfloat16])
def test_halves_are_computed_in_float32(device, dtype):
    given = [t.to(dtype) for t in arguments(3, 40, device=device)]
    y, scale = gated(*given)
    wide = reference(*[t.float() for t in given])
    assert (y.dtype, scale.dtype) == (dtype, dtype)
    assert lucid.equal(y, wide[0].to(dtype)) or lucid.allclose(y.float(), wide[0], rtol=1e-2)


def test_native_halves():
    source = "template <typename T> __global__ void twice(const T* x, T* y, int size, T k) " \
             "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) y[i] = T(float(x[i]) * float(k)); }"
    twice = ext.op("twice_native(x, *, k) -> y", gpu=ext.cuda("#include <cuda_fp16.h>\n" + source, "twice", block=32), half="native")
    x = lucid.randn(7).half()
    assert twice(x.to("gpu"), k=2.0).cpu().equal(x * 2)
    assert "kernels for gpu" in repr(twice)
    with pytest.raises(NotImplementedError, match="no kernel for the device 'cpu', only for gpu"):
        twice(x, k=2.0)


def test_strides_and_meta(device):
    x, gate, weight = arguments(4, 6, device=device)
    assert lucid.allclose(gated(x.t().contiguous().t(), gate[:, :], weight)[0], gated(x, gate, weight)[0])
    assert lucid.allclose(gated(x[::2, ::2], gate[1::2, ::2], weight[::2])[0], reference(x[::2, ::2], gate[1::2, ::2], weight[::2])[0],
                          atol=1e-6)
    y, scale = gated(*[t.to("meta") for t in (x, gate, weight)])
    assert (y.shape, scale.shape, y.device.type) == ((4, 6), (4,), "meta")


def test_batches(device):
    x, gate, weight = arguments(5, 4, 6, device=device)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lucid.allclose(lucid.vmap(gated, (0, 0, None))(x, gate, weight)[0], gated(x, gate, weight)[0])
    batching._warned.discard("gated")
    with pytest.warns(UserWarning, match="batching rule for gated"):
        found = lucid.vmap(gated, (0, None, None))(x, gate[0], weight)[0]
    assert lucid.allclose(found, reference(x, gate[0], weight)[0], atol=1e-6)
    slopes = lucid.vmap(lucid.func.grad(lambda x, gate: gated(x, gate, weight)[0].sum()))(x, gate)
    assert lucid.allclose(slopes, lucid.func.grad(lambda x: reference(x, gate, weight)[0].sum())(x), atol=1e-5)
    tangent = lucid.func.jvp(lambda x: gated(x, gate, weight)[0], (x,), (gate,))[1]
    assert lucid.allclose(tangent, lucid.func.jvp(lambda x: reference(x, gate, weight)[0], (x,), (gate,))[1], atol=1e-5)


def test_compiled_functions(device):
    given = arguments(3, 6, device=device, grad=True)

    def step(x):
        loss = gated(x, given[1], given[2])[0].square().sum()
        loss.backward()
        return loss.detach()

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it would run eagerly
        compiled = lucid.compile(step)
        for _ in range(4):
            x = lucid.randn(3, 6).to(device)
            for t in given:
                t.grad = None
            expected, slope = step(x), given[2].grad
            for t in given:
                t.grad = None
            assert lucid.equal(compiled(x), expected)
            assert lucid.allclose(given[2].grad, slope)


def test_autocast_and_fuse(device):
    x, gate, weight = arguments(3, 6, device=device)
    with lucid.autocast(device, dtype=lucid.float16):
        assert gated(x, gate.half(), weight)[0].dtype == lucid.float32
    with pytest.raises(RuntimeError, match="expects one floating-point dtype"):
        gated(x, gate.half(), weight)
    swish = ext.op("my_swish(x) -> y", cpu=lambda x: x / (1 + np.exp(-x)), composed=lambda x: x * lucid.sigmoid(x))
    assert lucid.allclose(lucid.fuse(lambda x: swish(x) * 2)(x), 2 * lucid.nn.functional.silu(x), atol=1e-6)
    with pytest.raises(TypeError, match="'plain_copy.*' is not among the elementwise operations"):
        lucid.fuse(ext.op("plain_copy(x) -> y", cpu=lambda x: x.copy()))(lucid.randn(3))


STEP = r"""
template <typename T> __global__ void step(T* p, const T* g, T* m, long long p_size, T lr, T momentum) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < p_size) { m[i] = momentum * m[i] + g[i]; p[i] -= lr * m[i]; }
}
"""


@ext.jit
def step_on_cpu(p, g, m, lr, momentum):
    p, g, m = p.reshape(-1), g.reshape(-1), m.reshape(-1)
    for i in range(p.size):
        m[i] = momentum * m[i] + g[i]
        p[i] -= lr * m[i]


def test_inputs_that_are_written(device):
    step = ext.op("step(p!, g, m!, *, lr, momentum=0.9) -> ()", cpu=step_on_cpu, gpu=ext.cuda(STEP, "step", block=32))
    p, g, m = (lucid.randn(4, 6).to(device) for _ in range(3))
    expected = p - 0.1 * (0.9 * m + g)
    version = p._version
    assert step(p, g, m, lr=0.1) is None
    assert lucid.allclose(p, expected)
    assert p._version == version + 1
    before = p.clone()
    step(p.t(), g.t(), m.t(), lr=0.0)  # strided
    assert lucid.equal(p, before)
    p.requires_grad_()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        step(p, g, m, lr=0.1)
    with lucid.no_grad():
        step(p, g, m, lr=0.1)
    with pytest.raises(RuntimeError, match="single memory location"):
        step(lucid.zeros(1, device=device).expand(6), g[0], m[0], lr=0.1)


def test_workspace_optional_inputs_and_lists(device):
    source = r"""
    __global__ void first(const float* x, float* sums, int columns) {
        float s = 0; for (int i = 0; i < columns; i++) s += x[blockIdx.x * columns + i]; sums[blockIdx.x] = s; }
    __global__ void second(const float* sums, const float* bias, int has_bias, float* y, int sums_size) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < sums_size) y[i] = sums[i] + (has_bias ? bias[i] : 0.0f); }
    """

    def first(x, sums):
        np.sum(x, -1, out=sums)

    def second(sums, bias, y):
        y[...] = sums if bias is None else sums + bias

    total = ext.op("total(x, bias=None) -> y", cpu=[first, second], workspace={"sums": lambda rows: (rows,)},
                   gpu=[ext.cuda(source, "first", grid="rows", block=1), ext.cuda(source, "second", block=32)],
                   like=lambda x: (x.shape[:-1], x.dtype), dtypes="float32")
    x, bias = lucid.randn(5, 4).to(device), lucid.randn(5).to(device)
    assert lucid.allclose(total(x), x.sum(-1))
    assert lucid.allclose(total(x, bias=bias), x.sum(-1) + bias)
    with pytest.raises(NotImplementedError, match="computes float32 and halves, not float64"):
        total(x.double())


def test_gradients_from_outputs_and_of_optional_inputs():
    both = ext.op("both(x, bias=None) -> e, s", cpu=lambda x, bias: (np.exp(x), x if bias is None else x + bias),
                  composed=lambda x, bias=None: (x.exp(), x * 1 if bias is None else x + bias))

    def slopes(grad_e, grad_s, e, bias):
        return grad_e * e + grad_s, None if bias is None else grad_s

    both.gradient("(grad_e, grad_s, e, bias) -> grad_x, grad_bias", cpu=slopes, like={"grad_x": "e"},
                  composed=lambda grad_e, grad_s, e, bias: (grad_e * e + grad_s, None if bias is None else grad_s))
    x, bias = (lucid.randn(3, dtype=lucid.float64, requires_grad=True) for _ in range(2))
    assert gradcheck(both, (x, bias))
    assert gradgradcheck(both, (x, bias))
    assert gradgradcheck(lambda x: both(x)[0], (x,))
    both(x)[1].sum().backward()  # without a gradient of the other output
    assert x.grad.tolist() == [1, 1, 1]


def test_a_compiled_step_that_writes():
    step = ext.op("compiled_step(p!, g, m!, *, lr, momentum=0.9) -> ()", cpu=step_on_cpu)
    p, m = lucid.randn(4, 6), lucid.zeros(4, 6)

    def train(g):
        step(p, g, m, lr=0.1)

    compiled = lucid.compile(train)
    with lucid.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            g, before, moment, version = lucid.randn(4, 6), p.clone(), m.clone(), p._version
            compiled(g)
            assert lucid.allclose(p, before - 0.1 * (0.9 * moment + g))
            assert p._version > version
    with pytest.raises(RuntimeError, match="does not run inside of vmap"):
        lucid.vmap(lambda p, g, m: step(p, g, m, lr=0.1))(p, lucid.zeros(4, 6), m)


def test_autocast_policies():
    x = lucid.randn(3)
    seen = {policy: ext.op(f"cast_{policy}(x) -> y", cpu=lambda x: x.copy(), autocast=policy) for policy in (
        "promote", "lower", "float32")}
    with lucid.autocast("cpu", dtype=lucid.bfloat16):
        assert seen["lower"](x).dtype == lucid.bfloat16
        assert seen["float32"](x.bfloat16()).dtype == lucid.float32
        assert seen["promote"](x.bfloat16()).dtype == lucid.bfloat16
    with pytest.raises(ValueError, match="autocast must be None or one of"):
        ext.op("cast_down(x) -> y", cpu=lambda x: x.copy(), autocast="down")


def test_errors():
    x = lucid.randn(3, 4, requires_grad=True)
    plain = ext.op("no_slope(x, *, k) -> y", cpu=lambda x, k: x * np.float32(k))
    with pytest.raises(RuntimeError, match="op 'no_slope' has no gradient: give it one"):
        plain(x, k=2).sum().backward()
    with pytest.raises(TypeError, match=r"no_slope\(x, \*, k\) -> y is missing 'k'"):
        plain(x)
    with pytest.raises(TypeError, match="'x' must be a tensor, not float"):
        plain(1.0, k=2)
    with pytest.raises(RuntimeError, match="its kernel returned 'y' of shape .3., and its shape rule says .3, 4."):
        ext.op("narrow(x) -> y", cpu=lambda x: x[:, 0])(x.detach())
    with pytest.raises(ValueError, match="there is an operation named 'softmax' already"):
        ext.op("softmax(x) -> y", cpu=lambda x: x)
    with pytest.raises(TypeError, match="a kernel asks for 'z', which is none of x, y, rows"):
        ext.op("wrong_name(x) -> y", cpu=lambda x, z: x)
    with pytest.raises(ValueError, match="no __global__ function 'sideward' in the source; there is forward, backward"):
        ext.cuda(kernels.SOURCE, "sideward")
    with pytest.raises(ValueError, match="is no signature: write it like"):
            ext.op("relu6(x)", cpu=lambda x: x)
    with pytest.raises(TypeError, match="its kernel takes 'x' as float., but it is float64"):
        ext.op("singles(x) -> y", gpu=ext.cuda("__global__ void f(const float* x, float* y) {}", "f"))(x.detach().double().to("gpu"))


def test_what_a_gradient_has_saved_is_watched():
    square = ext.op("watched_square(x) -> y", cpu=lambda x: x * x)
    square.gradient("(grad_y, x) -> grad_x", cpu=lambda grad_y, x: 2 * x * grad_y)
    w = lucid.randn(3, requires_grad=True)
    x = w * 1
    y = square(x).sum()
    x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation: input .* of op 'watched_square'"):
        y.backward()
    y = square(w).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert lucid.allclose(w.grad, 4 * w)
    with pytest.raises(RuntimeError, match="a second time \\(op 'watched_square'\\)"):
        y.backward()
    with pytest.raises(RuntimeError, match="has a gradient already"):
        square.gradient("(grad_y, x) -> grad_x", cpu=lambda grad_y, x: grad_y)
    for signature, message in (("(grad_y, z) -> grad_x", "'z' is neither an input nor an output"),
                               ("(grad_y, x) -> gx", "'gx' is not grad_ of an input"),
                               ("(grad_y) -> grad_x", "add that, or say like")):
        with pytest.raises(ValueError, match=message):
            ext.op("unwatched(x) -> y", cpu=lambda x: x.copy()).gradient(signature, cpu=lambda grad_y: grad_y)


@ext.jit(inline=True)
def half_of(x):
    return x / 2


@ext.jit(exact=True)
def halves(x, y):
    for i in range(x.size):
        y[i] = half_of(x[i])


def test_the_compiler():
    halved = ext.op("halved(x) -> y", cpu=halves)
    assert halved(lucid.tensor([2.0, float("inf"), float("nan")])).tolist()[:2] == [1.0, float("inf")]
    with pytest.raises(ValueError, match="neither exact nor inline"):
        ext.jit(halves, parallel=True, exact=True)


def test_a_second_definition_has_kernels_of_its_own():
    one = ext.op("twice_defined(x) -> y", cpu=lambda x: x + 1)
    two = ext.op("twice_defined(x) -> y", cpu=lambda x: x + 2)
    x = lucid.zeros(2)
    assert (one(x).tolist(), two(x).tolist()) == ([1, 1], [2, 2])


def test_second_derivatives_without_a_composed_rule_are_refused():
    cube = ext.op("cube(x) -> y", cpu=lambda x: x ** 3)
    cube.gradient("(grad_y, x) -> grad_x", cpu=lambda grad_y, x: 3 * x * x * grad_y)
    x = lucid.randn(3, requires_grad=True)
    (slope,) = lucid.autograd.grad(cube(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="op 'cube_grad' has no gradient"):
        slope.sum().backward()
    square = ext.op("my_square(x) -> y", cpu=lambda x: x * x)
    square.gradient("(grad_y, x) -> grad_x", cpu=lambda grad_y, x: 2 * x * grad_y, composed=lambda grad_y, x: 2 * x * grad_y)
    assert gradgradcheck(square, (lucid.randn(3, dtype=lucid.float64, requires_grad=True),))
