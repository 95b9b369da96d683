"""Unary, binary and special functions as in PyTorch: values on NaN, infinities and poles, dtypes, gradients, errors, `out`."""
from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import lucid
from lucid.autograd import gradcheck, gradgradcheck

inf, nan = np.inf, np.nan
NUMBERS = [nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, -0.5, 0.3, -3.0, 30.0, 1e30]
COMPLEX = [1 + 1j, 0.3 - 0.2j, -0.5 + 2j, -1.5 - 0.1j]
UNARY = """acos acosh asin asinh atanh atan deg2rad rad2deg digamma erf erfc erfinv fix frac lgamma logit nan_to_num sinc i0 angle
signbit isposinf isneginf isreal positive special.entr special.erfcx special.i0e special.i1 special.i1e special.log_ndtr special.ndtr
special.ndtri special.expit special.gammaln special.psi""".split()
BINARY = """float_power fmax fmin atan2 hypot logaddexp logaddexp2 xlogy copysign nextafter ldexp gcd lcm bitwise_left_shift
bitwise_right_shift special.xlog1py special.zeta special.gammainc special.gammaincc maximum minimum""".split()
DTYPES = "float64 float32 float16 bfloat16 int64 uint8 bool complex128".split()
TOLERANCE = {"float64": 1e-9, "complex128": 1e-10, "float32": 3e-6, "float16": 2e-3, "bfloat16": 1.6e-2}
# PyTorch's polygamma(1) has 9 digits, and its I0 and I1 of infinities are NaN; ours takes half and integer tensors in more places.
BETTER_VALUES = {"i0": [inf, -inf], "special.i1": [inf, -inf]}
BETTER_GRADIENTS = {"digamma": [-1.0, -3.0], "special.psi": [-1.0, -3.0], "i0": [inf, -inf], "special.i1": [nan], "special.i1e": [nan],
                    "special.log_ndtr": [-inf]}
MORE_DTYPES = {"special.erfcx", "special.log_ndtr", "special.ndtri", "special.zeta", "special.ndtr", "signbit", "copysign", "i0",
               "special.i1"}


def find(library, name):
    for part in name.split("."):
        library = getattr(library, part)
    return library


def arguments(name, dtype, count):
    if dtype == "complex128":
        values = [np.array(COMPLEX), np.array(COMPLEX[::-1])]
    elif dtype in ("int64", "uint8", "bool"):
        values = [np.array([0, 1, 2, 3, 5, 9]), np.array([1, 2, 1, 4, 10, 6])]
    elif count == 1:
        values = [np.array(NUMBERS)]
    else:
        values = [np.array(v) for v in zip(*itertools.product(NUMBERS, NUMBERS), strict=True)]
    return values[:count]


def outcome(library, name, arrays, dtype, device="cpu"):
    """The result, and the gradients of float64 inputs."""
    where = {"device": device} if library is lucid else {}
    tensors = [library.tensor(a, dtype=getattr(library, dtype), **where) for a in arrays]
    if dtype == "float64":
        tensors = [t.requires_grad_() for t in tensors]
    y = find(library, name)(*tensors)
    gradients = []
    if y.requires_grad:
        y.sum().backward()
        gradients = [t.grad for t in tensors]
    return str(y.dtype).removeprefix("torch."), [plain(library, t) for t in [y, *gradients]]


def outcome_of_each(library, name, arrays, dtype):
    """`outcome` of one element at a time: which of them PyTorch computes in vectors, whose NaN and signs of zeros differ from those
    of single ones, depends on the processor."""
    dtypes, results = zip(*(outcome(library, name, [e[None] for e in elements], dtype) for elements in zip(*arrays, strict=True)),
                          strict=True)
    return dtypes[0], [np.concatenate(parts) for parts in zip(*results, strict=True)]


def plain(library, tensor):
    tensor = tensor.detach().cpu()
    if tensor.dtype == library.bool:
        return tensor.numpy()
    return tensor.to(library.complex128 if "complex" in str(tensor.dtype) else library.float64).numpy()


@pytest.mark.torch
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_is_that_of_pytorch(name, dtype, device):
    torch = pytest.importorskip("torch")
    arrays = arguments(name, dtype, 1 if name in UNARY else 2)
    if name == "special.zeta" or name.startswith("special.gammainc"):
        arrays = [a[~np.isnan(arrays[0])] for a in arrays]  # PyTorch looks at the other argument first
    try:
        expected_dtype, expected = outcome_of_each(torch, name, arrays, dtype)
    except (RuntimeError, TypeError) as error:
        if "derivative" in str(error) and not torch.__version__.startswith("2.13"):
            pytest.skip(f"PyTorch {torch.__version__} has not yet this gradient of the reference, 2.13")
        if name not in MORE_DTYPES:
            with pytest.raises(type(error)):
                outcome(lucid, name, arrays, dtype, device)
        return
    if dtype in ("float16", "bfloat16") and name in MORE_DTYPES:
        return  # NaN's sign and overflow in half precision
    found_dtype, found = outcome(lucid, name, arrays, dtype, device)
    assert found_dtype == expected_dtype
    for known, (ours, theirs) in zip((BETTER_VALUES, BETTER_GRADIENTS, {}), zip(found, expected, strict=True), strict=False):
        if name in ("special.gammainc", "special.gammaincc"):
            ours, theirs = (np.where(np.isnan(arrays[1]), 0, v) for v in (ours, theirs))
        same = np.ones(ours.shape, bool) if name not in known else ~np.isin(arrays[0], known[name]) & ~(
            np.isnan(arrays[0]) & np.isnan(known[name]).any())
        rtol = max(TOLERANCE.get(dtype, 1e-6), 1e-8 if name in ("digamma", "special.psi") else 0)
        np.testing.assert_allclose(ours[same], theirs[same], rtol=rtol, atol=rtol * 1e-2)


@pytest.mark.parametrize("name", ["acos", "acosh", "asin", "asinh", "atanh", "sinc", "angle"])
def test_complex_gradients(name, device):
    def real(z):
        y = find(lucid, name)(z)
        return y if y.dtype == lucid.float64 else y.real * 2 + y.imag

    z = lucid.tensor(COMPLEX, device=device, requires_grad=True, dtype=lucid.complex128)
    assert gradcheck(real, [z])
    assert gradgradcheck(real, [z])


def test_complex_gradients_are_those_of_pytorch():
    torch = pytest.importorskip("torch")
    for name in ("acos", "acosh", "asin", "asinh", "atanh", "sinc", "angle"):
        grads = []
        for library in (lucid, torch):
            z = library.tensor(COMPLEX, dtype=library.complex128, requires_grad=True)
            y = find(library, name)(z)
            (y.abs() if "complex" in str(y.dtype) else y).sum().backward()
            grads.append(z.grad.numpy())
        np.testing.assert_allclose(grads[0], grads[1], rtol=1e-10, err_msg=name)


def test_third_derivatives(device):
    x = lucid.tensor([0.7, 2.3], dtype=lucid.float64, device=device, requires_grad=True)
    y = lucid.lgamma(x)
    for order in range(4):
        (y,) = lucid.autograd.grad(y.sum(), x, create_graph=True)
        expected = lucid.polygamma(order, x)
        np.testing.assert_allclose(y.tolist(), expected.tolist(), rtol=1e-14)


@pytest.mark.parametrize("name", ["erf", "lgamma", "i0", "acosh", "deg2rad", "sinc", "logit", "frac", "nan_to_num"])
def test_methods_and_in_place_forms(name, device):
    x = lucid.tensor([0.3, 0.6], device=device)
    if name == "acosh":
        x = x + 1
    expected = find(lucid, name)(x)
    assert getattr(x, name)().tolist() == expected.tolist()
    changed = x.clone()
    assert getattr(changed, f"{name}_")() is changed
    assert changed.tolist() == expected.tolist()


def test_every_method_of_pytorch_is_there():
    torch = pytest.importorskip("torch")
    names = [n for n in [*UNARY, *BINARY] if "." not in n]
    names += """absolute arccos arccosh arcsin arcsinh arctan arctanh arctan2 addcmul addcdiv clamp clamp_min clamp_max clip
    mvlgamma polygamma igamma igammac heaviside eq ne lt le gt ge greater greater_equal less less_equal not_equal logical_and
    bitwise_and where sgn sign round trunc square exp2""".split()
    for name in names:
        assert hasattr(lucid, name), name
        assert hasattr(lucid.Tensor, name), name
        assert hasattr(lucid.Tensor, f"{name}_") == hasattr(torch.Tensor, f"{name}_"), name


def test_arguments_of_the_methods(device):
    x = lucid.tensor([2.5, 3.5], dtype=lucid.float64, device=device)
    assert x.polygamma(1).tolist() == lucid.polygamma(1, x).tolist()
    assert x.clone().polygamma_(1).tolist() == lucid.polygamma(1, x).tolist()
    assert x.mvlgamma(2).tolist() == lucid.special.multigammaln(x, 2).tolist()
    assert x.where(x > 3, lucid.zeros_like(x)).tolist() == [0.0, 3.5]
    assert lucid.logit(lucid.tensor([0.0, 0.5], device=device), eps=0.25).tolist() == pytest.approx([-1.0986123, 0.0])
    assert lucid.nan_to_num(lucid.tensor([nan, inf, -inf], device=device), 1.0, 2.0, 3.0).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(("function", "x", "gradient", "expected"), [
    (lucid.nan_to_num, [nan, inf, 2.0], inf, [nan, nan, inf]),
    (lucid.nansum, [nan, 1.0], nan, [nan, nan]),
    (lucid.nansum, [nan, 1.0], 3.0, [0.0, 3.0]),
    (lucid.sinc, [0.0, -0.0], nan, [0.0, 0.0]),
    (lambda x: lucid.pow(x, lucid.zeros_like(x)), [nan, 0.0, 2.0], inf, [0.0, 0.0, 0.0]),
    (lambda x: lucid.xlogy(x, lucid.full_like(x, inf)), [nan, 1.0], 0.0, [0.0, 0.0]),
    (lambda x: lucid.special.xlog1py(x, lucid.full_like(x, inf)), [nan, 1.0], 0.0, [0.0, 0.0]),
    (lambda x: lucid.atan2(x, lucid.zeros_like(x)), [0.0, nan], nan, [nan, nan]),
])  # fmt: skip
def test_gradients_that_are_not_finite(function, x, gradient, expected, device):
    """What PyTorch's rules make of them: a product of a slope of 0 and infinity is NaN, what is left out is 0."""
    x = lucid.tensor(x, dtype=lucid.float64, device=device, requires_grad=True)
    y = function(x)
    y.backward(lucid.full_like(y, gradient))
    np.testing.assert_array_equal(x.grad.cpu().numpy(), expected)


def test_numbers_beside_tensors(device):
    x = lucid.tensor([1.0, 2.0], device=device)
    assert lucid.xlogy(2, x).tolist() == pytest.approx([0.0, 1.3862944])
    assert lucid.xlogy(x, 1.0).tolist() == [0.0, 0.0]
    assert lucid.special.zeta(2, x).tolist() == pytest.approx([1.6449341, 0.6449341])
    assert lucid.copysign(x, -1).tolist() == [-1.0, -2.0]
    assert lucid.float_power(2, x).tolist() == [2.0, 4.0]
    for function in (lucid.gcd, lucid.fmax, lucid.atan2, lucid.heaviside, lucid.hypot, lucid.nextafter, lucid.ldexp):
        with pytest.raises(TypeError, match="must be Tensor"):
            function(x, 2)


def test_shifts(device):
    x = lucid.tensor([1, -8, 3], device=device)
    assert (x << 2).tolist() == [4, -32, 12] and (x >> 1).tolist() == [0, -4, 1]
    assert (2 << x.abs()).tolist() == [4, 512, 16] and (64 >> x.abs()).tolist() == [32, 0, 8]
    counts = lucid.tensor([64, 70, -1], device=device)
    assert (x << counts).tolist() == [0, 0, 0] and (x >> counts).tolist() == [0, -1, 0]
    x <<= 1
    assert x.tolist() == [2, -16, 6]
    x >>= 1
    assert x.tolist() == [1, -8, 3]
    small = lucid.tensor([200], dtype=lucid.uint8, device=device)
    assert (small << 1).tolist() == [144] and (small >> 9).tolist() == [0]
    with pytest.raises(NotImplementedError):
        lucid.tensor([1.5], device=device) << 1


def test_comparisons_in_place(device):
    x = lucid.tensor([1.0, 2.0, 3.0], device=device)
    assert x.clone().gt_(1.5).tolist() == [0.0, 1.0, 1.0]
    assert x.clone().eq_(x).dtype == lucid.float32
    assert x.clone().clamp_min_(2).tolist() == [2.0, 2.0, 3.0]


def test_isclose(device):
    a, b = lucid.tensor([1.0, nan, inf, 1.0], device=device), lucid.tensor([1.0, nan, inf, 1.1], device=device)
    assert lucid.isclose(a, b).tolist() == [True, False, True, False]
    assert lucid.isclose(a, b, equal_nan=True).tolist() == [True, True, True, False]
    assert not lucid.allclose(a, b, equal_nan=True) and lucid.allclose(a[:3], b[:3], equal_nan=True)
    flags = lucid.tensor([True, False, True], device=device)
    assert lucid.isclose(flags, ~flags).tolist() == [False] * 3
    assert lucid.isclose(flags, ~flags, rtol=1.0).tolist() == [False, True, False]
    assert lucid.isclose(flags, ~flags, atol=1.0).all()
    with pytest.raises(RuntimeError, match="rtol"):
        lucid.isclose(a, b, rtol=-1.0)


def test_ternary_functions(device):
    x, a, b = (lucid.tensor(v, device=device) for v in ([1, 2], [3, 4], [5, 6]))
    assert lucid.addcmul(x, a, b, value=2).tolist() == [31, 50]
    assert lucid.addcmul(x, a, b, value=0.5).tolist() == [1, 2]  # the value joins integers as an integer
    assert x.double().addcdiv(a.double(), b, value=2).tolist() == pytest.approx([2.2, 2 + 8 / 6])
    with pytest.raises(RuntimeError, match="Integer division with addcdiv"):
        lucid.addcdiv(x, a, b)
    with pytest.raises(TypeError, match="tensor1"):
        lucid.addcmul(x, 3, b)


@pytest.mark.parametrize("mode", ["trunc", "floor"])
def test_rounded_division_has_zero_gradients(mode, device):
    a = lucid.tensor([7.0, -7.0], device=device, requires_grad=True)
    b = lucid.tensor([0.0, 2.0], device=device, requires_grad=True)
    lucid.div(a, b, rounding_mode=mode).sum().backward()
    assert a.grad.tolist() == [0.0, 0.0] and b.grad.tolist() == [0.0, 0.0]


def test_derivatives_that_are_not_there(device):
    a = lucid.tensor([1.5], device=device, requires_grad=True)
    x = lucid.tensor([2.5], device=device)
    for function in (lucid.igamma, lucid.igammac, lucid.special.zeta, lucid.heaviside):
        y = function(a, x)
        with pytest.raises(NotImplementedError, match="not implemented"):
            y.sum().backward()


@pytest.mark.parametrize(("call", "error"), [
    (lambda lib: lib.polygamma(-1, lib.tensor([1.0])), "RuntimeError"),
    (lambda lib: lib.mvlgamma(lib.tensor([1.0]), 0), "RuntimeError"),
    (lambda lib: lib.positive(lib.tensor([True])), "RuntimeError"),
    (lambda lib: lib.frac(lib.tensor([1])), "NotImplementedError"),
    (lambda lib: lib.signbit(lib.tensor([1j])), "NotImplementedError"),
    (lambda lib: lib.isposinf(lib.tensor([1j])), "RuntimeError"),
    (lambda lib: lib.deg2rad(lib.tensor([1j])), "RuntimeError"),
    (lambda lib: lib.erf(3.0), "TypeError"),
    (lambda lib: lib.heaviside(lib.tensor([1.0]), lib.tensor([1])), "RuntimeError"),
    (lambda lib: lib.gcd(lib.tensor([True]), lib.tensor([True])), "NotImplementedError"),
    (lambda lib: lib.hypot(lib.tensor([1]), lib.tensor([1])), "NotImplementedError"),
    (lambda lib: lib.special.log_softmax(lib.tensor([1.0])), "TypeError"),
])
def test_errors(call, error):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call(lucid)
    assert caught.type.__name__ == error
    torch = pytest.importorskip("torch")
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        call(torch)
    assert issubclass(caught.type, theirs.type)


@pytest.mark.parametrize("name", ["erf", "acos", "exp", "floor", "signbit", "lgamma", "logit", "angle", "isposinf"])
def test_out_of_one_argument(name, device):
    x = lucid.tensor([0.25, 0.5], device=device)
    expected = find(lucid, name)(x)
    out = lucid.empty(2, device=device, dtype=expected.dtype)
    assert find(lucid, name)(x, out=out) is out
    assert out.tolist() == expected.tolist()


def test_out(device):
    x, y = lucid.tensor([1.0, 2.0], device=device), lucid.tensor([3.0, 4.0], device=device)
    for function in (lucid.add, lucid.mul, lucid.div, lucid.pow, lucid.atan2, lucid.xlogy, lucid.fmax, lucid.eq, lucid.maximum):
        out = lucid.empty(2, device=device, dtype=lucid.float64)
        assert function(x, y, out=out) is out
        assert out.tolist() == function(x, y).double().tolist()
    assert lucid.add(x, y, out=x) is x and x.tolist() == [4.0, 6.0]
    with pytest.raises(RuntimeError, match="can't be cast"):
        lucid.add(x, y, out=lucid.empty(2, device=device, dtype=lucid.int64))
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        lucid.mul(x.clone().requires_grad_(), y, out=lucid.empty(2, device=device))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lucid.sub(x, y, out=lucid.empty(0, device=device)).shape == (2,)
        with pytest.raises(UserWarning, match="resized"):
            lucid.sub(x, y, out=lucid.empty(3, device=device))
    with pytest.raises(TypeError):
        x.add(y, out=x)


def test_the_module_is_there_after_import_lucid():
    torch = pytest.importorskip("torch")
    for name in lucid.special.__all__:
        assert callable(getattr(torch.special, name))
    x = lucid.tensor([[0.1, 0.2]])
    assert lucid.special.softmax(x, 1).tolist() == lucid.softmax(x, 1).tolist()
    assert lucid.special.logsumexp(x, 1).tolist() == lucid.logsumexp(x, 1).tolist()


def test_meta():
    x = lucid.empty(3, 1, device="meta")
    for name in ("erf", "lgamma", "acos", "special.entr", "nan_to_num"):
        assert find(lucid, name)(x).shape == (3, 1)
    for name in ("atan2", "special.zeta", "special.gammainc", "fmax", "xlogy", "nextafter"):
        assert find(lucid, name)(x, lucid.empty(4, device="meta")).shape == (3, 4)
