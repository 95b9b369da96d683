"""`lucid.fuse`: a fused function gives what its operations give one by one, values and gradients, in one kernel each way."""
from __future__ import annotations

import gc
import math
import weakref
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid as _lucid
from lucid import backends
from lucid.autograd.gradcheck import gradcheck, gradgradcheck
from lucid.nn import Module
from lucid.nn import functional as F

lucid: Any = _lucid  # its names are re-exports
RANDOM = np.random.default_rng(0)
Pair = namedtuple("Pair", ["first", "second"])

#: Functions of three tensors of positive numbers, of which each uses some operations.
FORMULAS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "arithmetic": lambda a, b, c: a * b + c / (a + 2) - 3 * b,
    "tanh": lambda a, b, c: a * b + c * lucid.tanh(a - b),
    "reflected": lambda a, b, c: (1 - a) * (2 / b) + (-c) + abs(a - b),
    "powers": lambda a, b, c: a**2 + b**3 + c**0.5 + a**-1 + b**-0.5 + c**-2 + a**b + 2**c + a**1.7 + b**1,
    "exponentials": lambda a, b, c: a.exp() + lucid.expm1(b) + lucid.exp2(c),
    "logarithms": lambda a, b, c: a.log() + lucid.log1p(b) + c.log2() + c.log10(),
    "roots": lambda a, b, c: a.sqrt() + lucid.rsqrt(b) + lucid.reciprocal(c) + lucid.square(a),
    "circular": lambda a, b, c: a.sin() * b.cos() + c.tan() + lucid.atan(a) + lucid.asin(b * 0.3) + lucid.acos(c * 0.3),
    "hyperbolic": lambda a, b, c: a.sinh() + b.cosh() + lucid.asinh(c) + lucid.acosh(a + 1.5) + lucid.atanh(b * 0.3),
    "angle of two": lambda a, b, c: lucid.atan2(a, b) * c,
    "activations": lambda a, b, c: F.relu(a - b) + F.gelu(b - c) + F.gelu(c - a, approximate="tanh") + F.silu(a - c),
    "sigmoids": lambda a, b, c: lucid.sigmoid(a - b) + F.softplus(b - c) + F.logsigmoid(c - a),
    "piecewise": lambda a, b, c: F.leaky_relu(a - b) + F.elu(b - c) + F.hardtanh(c - a) + F.hardswish(a) + F.mish(b),
    "erf": lambda a, b, c: lucid.erf(a - b) + lucid.special.erfc(b) * c,
    "choice": lambda a, b, c: lucid.where(a > b, a * c, b) + lucid.where(b <= c, 2.0, a),
    "bounds": lambda a, b, c: lucid.clamp(a, 0.3, 0.9) + b.clamp(min=0.5) + lucid.clamp(c, max=a),
    "extrema": lambda a, b, c: lucid.maximum(a, b) + lucid.minimum(b, c) + lucid.fmax(a, c) + lucid.fmin(a, b),
    "lerp": lambda a, b, c: lucid.lerp(a, b, 0.3) + lucid.lerp(a, b, 0.8) + lucid.lerp(a, b, c),
    "addcmul": lambda a, b, c: lucid.addcmul(a, b, c, value=0.5) + lucid.addcdiv(a, b, c),
    "steps": lambda a, b, c: a * b.floor() + b * c.ceil() + a.trunc() + c * b.round() + a * b.sign() + a.frac(),
    "remainders": lambda a, b, c: (lucid.remainder(a - b, c) + lucid.fmod(a - b, c) + a // b
                                   + lucid.div(a, b, rounding_mode="trunc")),
    "logic": lambda a, b, c: lucid.where((a > b) & ~(b > c) | lucid.isnan(a) ^ lucid.isfinite(c), a, c),
    "masks": lambda a, b, c: a.masked_fill(a > b, 0.25) + lucid.nan_to_num(b) + lucid.xlogy(a, c) + lucid.logaddexp(a, b),
    "in place": lambda a, b, c: (a * b).add_(c).mul_(2),
    "detached": lambda a, b, c: a * b.detach() + c,
    "shared": lambda a, b, c: lucid.tanh(a + b) * lucid.tanh(a + b) + lucid.tanh(a + b) * c,
    "nothing": lambda a, b, c: b,
}  # fmt: skip


def every(a: Any, b: Any, c: Any) -> tuple[Any, ...]:
    return tuple(function(a, b, c) for function in FORMULAS.values())


def positive(*shape: int, dtype: str = "float32", device: str = "cpu", grad: bool = True) -> Any:
    return lucid.tensor(RANDOM.uniform(0.2, 1.5, shape).astype(dtype), device=device, requires_grad=grad)


def close(ours: Any, expected: Any, tolerance: float, what: str = "") -> None:
    assert (ours.shape, ours.dtype, ours.device) == (expected.shape, expected.dtype, expected.device), what
    found = [x.detach().cpu().numpy() for x in (ours, expected)]
    np.testing.assert_allclose(*found, rtol=tolerance, atol=tolerance, err_msg=what)


def agrees(function: Callable[..., Any], arguments: Any, tolerance: float) -> None:
    """The value and the gradients of the fused function are those of the function."""
    results = lucid.fuse(function)(*arguments), function(*arguments)
    close(*results, tolerance)
    upstream = lucid.randn(results[1].shape, dtype=results[1].dtype, device=results[1].device)
    wanted = [x for x in arguments if x.requires_grad]
    found = [lucid.autograd.grad(y, wanted, upstream, allow_unused=True) for y in results]
    for ours, expected in zip(*found, strict=True):
        assert (ours is None) == (expected is None)
        if ours is not None:
            close(ours, expected, 4 * tolerance)


def kernels(function: Callable[..., Any], *arguments: Any) -> list[str]:
    """The names of the kernels that a call runs."""
    names: list[str] = []
    with backends.observe(lambda name, arrays, *rest: names.append(name)):
        function(*arguments)
    return names


# ---- agreement with the operations ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["arithmetic", "choice", "in place", "detached", "shared", "nothing"])
def test_a_fused_function_agrees_with_its_operations(name: str) -> None:
    agrees(FORMULAS[name], [positive(5, 7) for _ in range(3)], 3e-6)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 3e-6), ("float64", 1e-13)])
def test_all_formulas_at_once(device: str, dtype: str, tolerance: float) -> None:
    """A kernel of one formula takes nearly as long to compile as one of all; for the gradients of one, others get zeros."""
    arguments = [positive(5, 7, dtype=dtype, device=device) for _ in range(3)]
    results, expected = lucid.fuse(every)(*arguments), every(*arguments)
    for ours, value in zip(results, expected, strict=True):
        close(ours, value, tolerance)
    zeros = [lucid.zeros_like(y) for y in results]
    for chosen, (name, value) in enumerate(zip(FORMULAS, expected, strict=True)):
        upstream = lucid.randn(value.shape, dtype=value.dtype, device=device)
        wanted = lucid.autograd.grad(value, arguments, upstream, retain_graph=True, allow_unused=True, materialize_grads=True)
        given = [*zeros[:chosen], upstream, *zeros[chosen + 1 :]]
        for ours, gradient in zip(lucid.autograd.grad(results, arguments, given, retain_graph=True), wanted, strict=True):
            close(ours, gradient, 4 * tolerance, name)


@pytest.mark.parametrize("name", ["arithmetic", "tanh", "powers", "activations", "choice", "detached", "shared", "lerp"])
def test_first_and_second_derivatives(name: str) -> None:
    arguments = [positive(3, dtype="float64"), positive(2, 3, dtype="float64"), positive(2, 1, dtype="float64")]
    fused = lucid.fuse(FORMULAS[name])
    if name != "detached":  # whose numerical derivative is another
        assert gradcheck(fused, arguments)
        assert gradgradcheck(fused, arguments, fast_mode=True)
    for create_graph in (False, True):
        first = [lucid.autograd.grad(f(*arguments).sum(), arguments, create_graph=create_graph, allow_unused=True)
                 for f in (fused, FORMULAS[name])]
        for ours, expected in zip(*first, strict=True):
            if expected is not None:
                close(ours, expected, 1e-13)


def test_third_derivatives() -> None:
    x = positive(6, dtype="float64")
    fused = lucid.fuse(lambda x: x**4.5 + lucid.exp(2 * x))
    value = fused(x)
    for _ in range(3):
        (value,) = lucid.autograd.grad(value.sum(), x, create_graph=True)
    close(value, 4.5 * 3.5 * 2.5 * x**1.5 + 8 * lucid.exp(2 * x), 1e-12)


@pytest.mark.parametrize("shapes", [
    ((4, 5), (5,), (4, 1)), ((2, 3, 70), (1, 3, 1), (3, 70)), ((2, 3, 70), (70,), (2, 1, 1)), ((4, 100), (), (1, 1)),
    ((1, 80), (4, 1), (80,)), ((), (), ()), ((1,), (), (1, 1)), ((3, 1, 66), (1, 2, 1), (66,)),
    ((0, 5), (5,), ()), ((2, 3), (0, 2, 3), (1,)),
    ((300, 200), (200,), (300, 1)), ((2, 3, 4), (2, 1, 4), (3, 1))])  # fmt: skip
def test_broadcasting(shapes: Any, device: str) -> None:
    if device == "gpu" and shapes[0] not in ((4, 5), (2, 3, 70), ()):
        pytest.skip("the layouts are those of the CPU")
    agrees(lambda a, b, c: a * b + c * lucid.tanh(b), [positive(*shape, device=device) for shape in shapes], 1e-5)


def test_arguments_that_are_not_contiguous(device: str) -> None:
    whole = positive(6, 8, device=device, grad=False)
    views = [whole.T, whole[:, ::2].T.repeat(2, 1), whole[1:2, :6].expand(8, 6)]
    agrees(FORMULAS["tanh"], [v.detach().requires_grad_() for v in views], 3e-6)


def test_large_arguments_on_all_threads() -> None:
    agrees(FORMULAS["tanh"], [positive(250, 301), positive(301), positive(250, 1)], 1e-4)
    agrees(FORMULAS["activations"], [positive(100_003) for _ in range(3)], 1e-5)


def test_special_values_come_out_as_from_the_operations(device: str) -> None:
    smallest = 1e-45 if device == "cpu" else 1e-37  # CuPy has the GPU take smaller ones for 0
    values = np.array([math.nan, math.inf, -math.inf, 0.0, -0.0, smallest, 1e38, -1e38, 90.0, -110.0, 3.0, -3.0])
    pairs = np.array(np.meshgrid(values, values)).reshape(2, -1)
    functions: dict[str, Callable[[Any, Any], Any]] = {
        "sum": lambda a, b: a + b - a * b, "quotient": lambda a, b: a / b, "exp": lambda a, b: a.exp() + b,
        "tanh": lambda a, b: lucid.tanh(a), "sigmoid": lambda a, b: lucid.sigmoid(a),
        "maximum": lambda a, b: lucid.maximum(a, b),
        "minimum": lambda a, b: lucid.minimum(a, b), "fmax": lambda a, b: lucid.fmax(a, b), "relu": lambda a, b: F.relu(a),
        "gelu": lambda a, b: F.gelu(a), "where": lambda a, b: lucid.where(a > b, a, b),
        "clamp": lambda a, b: lucid.clamp(a, -1, b),
        "sqrt": lambda a, b: a.sqrt(), "log": lambda a, b: a.log(), "log1p": lambda a, b: a.log1p(),
        "expm1": lambda a, b: a.expm1(),
        "sin": lambda a, b: a.sin(), "cos": lambda a, b: a.cos(), "erf": lambda a, b: lucid.erf(a), "power": lambda a, b: a**b,
        "square": lambda a, b: a**2 + b**0.5, "sign": lambda a, b: a.sign(), "round": lambda a, b: a.round() + b.floor(),
        "isinf": lambda a, b: lucid.where(lucid.isinf(a), 1.0, b), "nan_to_num": lambda a, b: lucid.nan_to_num(a),
        "remainder": lambda a, b: lucid.remainder(a, b), "softplus": lambda a, b: F.softplus(a),
        "equal": lambda a, b: (a == b) * 1.0,
        "logaddexp": lambda a, b: lucid.logaddexp(a, b), "abs": lambda a, b: abs(a), "neg": lambda a, b: -a}  # fmt: skip
    fused = lucid.fuse(lambda a, b: tuple(function(a, b) for function in functions.values()))
    for dtype in ("float32", "float64"):
        a, b = (lucid.tensor(v.astype(dtype), device=device) for v in pairs)
        for name, ours in zip(functions, fused(a, b), strict=True):
            expected = functions[name](a, b).cpu().numpy()
            np.testing.assert_allclose(ours.cpu().numpy(), expected, rtol=3e-6, atol=1e-37, err_msg=f"{name} {dtype}")


# ---- dtypes ----------------------------------------------------------------------------------------------------------------
OF_ALL_DTYPES: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b, lambda a, b: a * b - 2, lambda a, b: a / b, lambda a, b: a * 1.5, lambda a, b: lucid.maximum(a, b),
    lambda a, b: a < b, lambda a, b: lucid.where(a < b, a, b), lambda a, b: lucid.sin(a) + b, lambda a, b: a & b | 3,
    lambda a, b: ~a ^ b, lambda a, b: -a + abs(b), lambda a, b: a.long()**2 + b.int()**3, lambda a, b: a.float() * b,
    lambda a, b: a.bool(), lambda a, b: a.to(lucid.uint8) + b.to(lucid.int8), lambda a, b: lucid.logical_and(a, b),
    lambda a, b: a.clamp(2, 4) + b.sign(), lambda a, b: (a > 2) + (b > 2), lambda a, b: (a > 2) * b]  # fmt: skip


@pytest.mark.parametrize("dtypes", [("int64", "int32"), ("uint8", "int16"), ("int8", "float32"), ("float32", "float64"),
                                    ("bool", "int32")])
def test_dtypes_are_those_of_the_operations(dtypes: tuple[str, str], device: str) -> None:
    a, b = (lucid.tensor(v, device=device).to(getattr(lucid, dtype)) for v, dtype in zip(
        ([1, 2, 3, 4, 0, 120], [2, 2, 1, 5, 3, 100]), dtypes, strict=True))
    pairs = [(a, b), (a, b[1]), (a[2], b), (a[0], b[1])]  # a tensor without dimensions yields
    for arguments in pairs if device == "cpu" and "float32" in dtypes else pairs[:1]:
        possible = []
        for function in OF_ALL_DTYPES:
            try:
                function(*arguments)
            except (RuntimeError, NotImplementedError) as error:
                with pytest.raises(type(error)):
                    lucid.fuse(function)(*arguments)
            else:
                possible.append(function)
        fused = lucid.fuse(lambda a, b, some=tuple(possible): tuple(function(a, b) for function in some))
        for function, ours in zip(possible, fused(*arguments), strict=True):
            close(ours, function(*arguments), 1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_rounded_once(dtype: str, device: str) -> None:
    half = getattr(lucid, dtype)
    arguments = [positive(4, 6, device=device, grad=False).to(half).requires_grad_() for _ in range(4)]
    formula = lucid.fuse(lambda a, b, c, d: a * b + c * lucid.tanh(d))
    result = formula(*arguments)
    assert result.dtype == half
    exact = formula.__wrapped__(*[x.detach().float() for x in arguments])
    assert lucid.equal(result.detach(), exact.to(half))
    result.sum().backward()
    assert lucid.equal(arguments[0].grad, arguments[1].detach())
    mixed = lucid.fuse(lambda a, b: a + b)(arguments[0].detach(), lucid.ones(6, device=device))
    assert mixed.dtype == lucid.float32


# ---- arguments and results ---------------------------------------------------------------------------------------------------
def test_several_results_of_several_shapes_and_dtypes(device: str) -> None:
    def function(a: Any, b: Any, scale: float, *, shift: Any = 0.0) -> Any:
        return a * scale, a + b, a > b, b - shift

    arguments = positive(4, 1, device=device), positive(3, device=device)
    ours, expected = (f(*arguments, 2.0, shift=0.5) for f in (lucid.fuse(function), function))
    assert isinstance(ours, tuple)
    for one, other in zip(ours, expected, strict=True):
        close(one, other, 1e-6)
    assert not ours[2].requires_grad
    for chosen in ((0, 1, 3), (1,), (3,)) if device == "cpu" else ((0, 1, 3),):
        found = [lucid.autograd.grad(sum(y[i].square().sum() for i in chosen), arguments, allow_unused=True, retain_graph=True)
                 for y in (ours, expected)]
        for one, other in zip(*found, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                close(one, other, 1e-5)


def test_results_come_in_the_container_of_the_function() -> None:
    x = positive(3)
    assert isinstance(lucid.fuse(lambda x: [x, x + 1])(x), list)
    assert isinstance(lucid.fuse(lambda x: (x * 2,))(x), tuple)
    pair = lucid.fuse(lambda x: Pair(x, x * 2))(x)
    assert isinstance(pair, Pair) and lucid.equal(pair.second, x * 2)


def test_a_function_is_traced_once_for_each_kind_of_arguments() -> None:
    calls = []

    @lucid.fuse
    def scaled(x: Any, factor: Any) -> Any:
        """Docstring."""
        calls.append(factor)
        return x * factor

    with lucid.no_grad():  # another time for the gradient
        for x in (positive(3), positive(2, 5), positive(1, grad=False)):
            close(scaled(x, 2.0), x * 2.0, 0)
        assert len(calls) == 1
        for factor in (2, 0.0, -0.0, True):
            scaled(positive(3), factor)
        assert len(calls) == 5
        assert math.copysign(1, scaled(lucid.ones(1), -0.0).item()) == -1
        scaled(positive(3, dtype="float64"), 2.0), scaled(positive(), 2.0), scaled(positive(3), positive(3))
        assert len(calls) == 8
    assert scaled.__name__ == "scaled" and scaled.__doc__ == "Docstring."


def test_another_number_needs_no_other_kernel() -> None:
    from lucid_kernels.cpu.elementwise import fused as module

    fused = lucid.fuse(lambda x, k: x * k + 1.25)
    fused(lucid.ones(3), 0.125)
    before = len(module._kernels)
    assert fused(lucid.ones(3), 7.5).tolist() == [8.75] * 3
    assert len(module._kernels) == before


def test_one_kernel_forward_and_one_backward(device: str) -> None:
    arguments = [positive(4, 5, device=device) for _ in range(4)]
    formula = lucid.fuse(lambda a, b, c, d: a * b + c * lucid.tanh(d))
    y = formula(*arguments)
    assert kernels(formula, *arguments) == ["fused"]
    y.backward(lucid.ones_like(y), retain_graph=True)
    assert kernels(lambda: y.backward(lucid.ones_like(y), inputs=arguments, retain_graph=True)).count("fused") == 1


def test_only_what_the_gradient_reads_is_saved() -> None:
    a, b = positive(3), positive(3)
    u, v = a * 1, b * 1
    y = lucid.fuse(lambda u, v: u + v * v)(u, v)
    u.add_(1)
    y.sum().backward(retain_graph=True)
    close(b.grad, 2 * b, 1e-6)
    v.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*'fused'"):
        y.sum().backward()


def test_graphs_are_freed() -> None:
    gc.collect()
    gc.disable()
    try:
        x = positive(3)
        y = lucid.fuse(lambda x: x * x + 1)(x)
        alive = weakref.ref(y)
        del y
        assert alive() is None
    finally:
        gc.enable()


def test_the_formula_keeps_no_memory() -> None:
    fused = lucid.fuse(lambda x: x * 2)
    x = positive(3)
    alive = weakref.ref(x)
    fused(x).sum().backward()
    del x
    gc.collect()
    assert alive() is None


def test_gradient_modes() -> None:
    x = positive(3)
    fused = lucid.fuse(lambda x: x * x)
    with lucid.no_grad():
        assert not fused(x).requires_grad
    with lucid.inference_mode():
        z = fused(x)
    assert z.is_inference()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        lucid.fuse(lambda x, z: x * z)(x, z)
    assert fused(x).requires_grad
    total = fused(x).sum()
    with lucid.no_grad():
        total.backward()  # traced without gradients around it
    close(x.grad, 2 * x, 1e-6)


def test_a_fused_function_inside_another() -> None:
    inner = lucid.fuse(lambda x, y: lucid.tanh(x) * y)
    outer = lucid.fuse(lambda x, y: inner(x, y) + inner(y, x))
    arguments = positive(4), positive(4)
    assert kernels(outer, *arguments).count("fused") == 1
    agrees(outer, arguments, 1e-6)
    assert lucid.fuse()(lambda x: x + 1)(lucid.ones(2)).tolist() == [2, 2]


def test_without_tensors_it_is_the_function() -> None:
    assert lucid.fuse(lambda x: x + 1)(2) == 3


def test_parameters_and_modules() -> None:
    class Gate(Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = lucid.nn.Parameter(lucid.ones(4))
            self.apply_gate = lucid.fuse(lambda x, w: x * lucid.sigmoid(x * w))

        def forward(self, x: Any) -> Any:
            return self.apply_gate(x, self.weight)

    gate = Gate()
    gate(positive(3, 4)).sum().backward()
    assert gate.weight.grad.shape == (4,)


def test_shapes_on_the_device_meta() -> None:
    x, y = lucid.ones(4, 1, device="meta", requires_grad=True), lucid.ones(3, device="meta")
    result = lucid.fuse(FORMULAS["tanh"])(x, y, y)
    assert result.shape == (4, 3) and result.is_meta
    result.sum().backward()
    assert x.grad.shape == (4, 1)


def test_a_tensor_without_dimensions_joins_those_on_a_gpu(device: str) -> None:
    x, scale = positive(3, device=device), lucid.tensor(0.5, requires_grad=True)
    y = lucid.fuse(lambda x, s: x * s)(x, scale)
    y.sum().backward()
    close(y, x * scale, 1e-6)
    assert scale.grad.device == "cpu"


# ---- errors ------------------------------------------------------------------------------------------------------------------
CAPTURED = lucid.ones(3)


@pytest.mark.parametrize(("function", "message"), [
    (lambda x: x.sum(), "op 'sum' is not among the elementwise"), (lambda x: x @ x, "op 'matmul'"),
    (lambda x: x.mean(-1), "op 'mean'"), (lambda x: x.cumsum(0), "op 'cumsum'"), (lambda x: F.softmax(x, 1), "op 'softmax'"),
    (lambda x: x[0], "shape"), (lambda x: x[x > 0], "op 'getitem'"), (lambda x: x.reshape(-1), "op 'reshape'"),
    (lambda x: x.T, "op 'transpose'"),
    (lambda x: lucid.cat([x, x]), "op 'concatenate'"), (lambda x: F.dropout(x), "op 'dropout'"),
    (lambda x: x if x > 0 else -x, "value of an element"), (lambda x: x * x.item(), "value of an element"),
    (lambda x: x * float(x), "value of an element"), (lambda x: lucid.ones(x.shape[0]), "shape"),
    (lambda x: x.numel() * x, "shape"),
    (lambda x: x.view(2, -1), "shape"), (lambda x: len(x) * x, "shape"), (lambda x: x * CAPTURED, "not an argument"),
    (lambda x: CAPTURED + x, "not an argument"), (lambda x: lucid.where(x > 0, CAPTURED, x), "not an argument"),
    (lambda x: CAPTURED, "must return tensors computed"), (lambda x: 3.0, "must return tensors computed"),
    (lambda x: x.add_(1), "writes into an argument"), (lambda x: x.to(lucid.complex64), "complex"),
    (lambda x: x * 1j, "complex"),
    (lambda x: lucid.erfinv(x), "op 'erfinv'"), (lambda x: np.asarray(x), "formula")])  # fmt: skip
def test_what_cannot_be_fused_raises(function: Any, message: str) -> None:
    with pytest.raises(TypeError, match=rf"lucid\.fuse: .*{message}"):
        lucid.fuse(function)(lucid.ones(3))


def test_errors_of_a_call(device: str) -> None:
    fused = lucid.fuse(lambda x, y: x * y)
    with pytest.raises(RuntimeError, match="broadcast"):
        fused(lucid.ones(3, device=device), lucid.ones(4, device=device))
    with pytest.raises(TypeError, match="hashable"):
        fused(lucid.ones(3, device=device), [1, 2])
    if device == "gpu":
        with pytest.raises(RuntimeError, match="same device"):
            fused(lucid.ones(3, device=device), lucid.ones(3))


def test_errors_of_the_operations_stay_theirs() -> None:
    for function in (lambda x: lucid.where(x, x, x), lambda x: -(x > 0), lambda x: F.gelu(x, approximate="fast")):
        with pytest.raises(RuntimeError) as expected:
            function(lucid.ones(3))
        with pytest.raises(RuntimeError) as found:
            lucid.fuse(function)(lucid.ones(3))
        assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_to_whole_powers(dtype: str, device: str) -> None:
    x, exponents = lucid.arange(6, device=device).to(getattr(lucid, dtype)), (0, 1, 2, 3, 5, 10)
    for exponent, found in zip(exponents, lucid.fuse(lambda x: tuple(x**e for e in exponents))(x), strict=True):
        assert found.dtype == x.dtype and found.tolist() == (x**exponent).tolist()
