"""2-d convolution: values against a direct sum, derivatives, unbatched and odd shapes, dtypes, errors, PyTorch."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

import lucid
import lucid.nn.functional as F
from lucid.autograd import gradcheck
from tests.ops.table.derivatives import check_derivatives, close, leaf, raises_like_torch, same_as_torch, uniform

OPTIONS = [
    {}, {"stride": 2, "padding": 1}, {"stride": (1, 2), "padding": (2, 0), "dilation": (1, 2)}, {"groups": 2},
    {"groups": 4, "padding": 1}, {"padding": "same"}, {"padding": "same", "dilation": 2}, {"padding": "valid"},
]


def direct(x, weight, bias, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1):
    """The definition, element by element."""
    x = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    out, channels, kh, kw = weight.shape
    oh, ow = ((n - d * (k - 1) - 1) // s + 1 for n, d, k, s in zip(x.shape[2:], dilation, (kh, kw), stride, strict=True))
    y = np.zeros((x.shape[0], out, oh, ow))
    for o, i, j in itertools.product(range(out), range(oh), range(ow)):
        first = o // (out // groups) * channels
        rows = slice(i * stride[0], i * stride[0] + dilation[0] * (kh - 1) + 1, dilation[0])
        columns = slice(j * stride[1], j * stride[1] + dilation[1] * (kw - 1) + 1, dilation[1])
        y[:, o, i, j] = (x[:, first:first + channels, rows, columns] * weight[o]).sum((1, 2, 3)) + bias[o]
    return y


@pytest.mark.parametrize("options", [
    {}, {"stride": (2, 1)}, {"padding": (1, 2)}, {"dilation": (2, 1), "padding": (1, 0)}, {"groups": 2, "stride": (2, 2)}])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values(options, dtype, device):
    groups = options.get("groups", 1)
    x, weight, bias = uniform(2, 4, 6, 5), uniform(6, 4 // groups, 3, 2, seed=1), uniform(6, seed=2)
    y = F.conv2d(*[lucid.tensor(a, dtype=dtype, device=device) for a in (x, weight, bias)], **options)
    assert y.dtype == getattr(lucid, dtype) and y.device == device
    close(y, direct(x, weight, bias, **options), 1e-5 if dtype == "float32" else 1e-11)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_derivatives(options, device):
    groups = options.get("groups", 1)
    check_derivatives(lambda x, w, b: F.conv2d(x, w, b, **options), device,
                      uniform(2, 4, 4, 5), uniform(4, 4 // groups, 3, 2, seed=1), uniform(4, seed=2))


def test_unbatched_and_non_contiguous(device):
    x, weight = uniform(4, 5, 3), uniform(2, 3, 2, 2, seed=1)
    view = lucid.tensor(x, device=device).permute(2, 0, 1)
    y = F.conv2d(view, lucid.tensor(weight, device=device))
    close(y, direct(x.transpose(2, 0, 1)[None], weight, np.zeros(2))[0], 1e-11)
    check_derivatives(lambda x, w: F.conv2d(x.permute(2, 0, 1), w), device, x, weight)


def test_only_needed_gradients_are_computed():
    from lucid.backends import observe

    calls: list[str] = []
    x, weight = lucid.tensor(uniform(1, 1, 3, 3)), leaf(uniform(1, 1, 2, 2))
    y = F.conv2d(x, weight)
    with observe(lambda name, arrays, attributes, result: calls.append(name)):
        y.sum().backward()
    assert "conv2d_grad_weight" in calls and "conv2d_grad_input" not in calls


def test_gradients_of_weight_and_bias_are_one_kernel():
    from lucid.backends import observe

    calls: list[str] = []
    x, weight, bias = lucid.tensor(uniform(1, 1, 3, 3)), leaf(uniform(2, 1, 2, 2)), leaf(uniform(2))
    y = F.conv2d(x, weight, bias)
    with observe(lambda name, arrays, attributes, result: calls.append(name)):
        gradients = lucid.autograd.grad(y.sum(), (weight, bias), create_graph=True)
    assert "conv2d_grad_parameters" in calls and "conv2d_grad_weight" not in calls
    assert (gradients[1] == 4).all()


def test_all_gradients_are_one_operation_where_there_is_one(device):
    from lucid.backends import observe

    x, weight, bias = leaf(uniform(2, 2, 5, 4), device), leaf(uniform(3, 2, 2, 2), device), leaf(uniform(3), device)
    upstream = lucid.tensor(uniform(2, 3, 4, 3), device=device)
    for parameters in ((weight,), (weight, bias)):
        calls: list[str] = []
        with observe(lambda name, arrays, attributes, result, calls=calls: calls.append(name)):
            together = lucid.autograd.grad(F.conv2d(x, *parameters), (x, *parameters), upstream)
            differentiated = lucid.autograd.grad(F.conv2d(x, *parameters), (x, *parameters), upstream, create_graph=True)
        assert calls.count("conv2d_grad") == (device != "cpu")
        assert "conv2d_grad_input" in calls
        for a, b in zip(together, differentiated, strict=True):
            assert b.requires_grad
            np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=1e-6)
        only_x, = lucid.autograd.grad(F.conv2d(x, *parameters), x, upstream)
        assert only_x.equal(together[0])


@pytest.mark.parametrize("number", [0, 1], ids=["weight", "bias"])
def test_second_derivatives_through_one_of_two_gradients(number, device):
    """The gradients of weight and bias come from one kernel; each is differentiated alone here."""
    parameters = [leaf(array, device) for array in (uniform(3, 2, 2, 2, seed=1), uniform(3, seed=2))]
    x, upstream = uniform(2, 2, 4, 3), uniform(2, 3, 3, 2, seed=3)

    def gradient(x, upstream):
        return lucid.autograd.grad(F.conv2d(x, *parameters), parameters, upstream, create_graph=True)[number]

    if number == 0:
        check_derivatives(gradient, device, x, upstream)
    else:  # which does not depend on x
        check_derivatives(lambda upstream: gradient(lucid.tensor(x, device=device), upstream), device, upstream)


def test_empty_batch_and_no_channels(device):
    assert F.conv2d(lucid.ones(0, 3, 4, 4, device=device), lucid.ones(5, 3, 3, 3, device=device)).shape == (0, 5, 2, 2)
    y = F.conv2d(lucid.ones(2, 0, 4, 4, device=device), lucid.ones(5, 0, 3, 3, device=device), lucid.ones(5, device=device))
    assert y.shape == (2, 5, 2, 2) and (y == 1).all()


def test_nan_and_inf_stay_where_they_are(device):
    x = np.zeros((1, 1, 5, 5))
    x[0, 0, 0, 0], x[0, 0, 4, 4] = np.nan, np.inf
    y = F.conv2d(lucid.tensor(x, device=device), lucid.ones(1, 1, 2, 2, dtype=lucid.float64, device=device))[0, 0]
    assert y.isnan().sum() == 1 and y.isinf().sum() == 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves(dtype, device):
    x, weight = (lucid.tensor(a, device=device).to(getattr(lucid, dtype)) for a in (uniform(1, 2, 4, 4), uniform(2, 2, 3, 3)))
    y = F.conv2d(x, weight.requires_grad_())
    assert y.dtype == x.dtype
    close(y, direct(*(t.detach().cpu().double().numpy() for t in (x, weight)), np.zeros(2)), 0.05)
    y.sum().backward()
    assert weight.grad.dtype == x.dtype


def test_integers():
    y = F.conv2d(lucid.ones(1, 1, 3, 3).long(), lucid.ones(1, 1, 2, 2).long())
    assert y.dtype == lucid.int64 and (y == 4).all()


def test_numbers_of_any_kind():
    x, weight = lucid.ones(1, 1, 6, 6), lucid.ones(1, 1, 3, 3)
    for stride in ([2, 2], (2.0, 2), np.int64(2), (np.int32(2), 2), lucid.tensor(2), [2]):
        assert F.conv2d(x, weight, stride=stride).shape == (1, 1, 2, 2)
    step = lucid.tensor(1)
    assert F.conv2d(x, weight, stride=(step, step)).shape == (1, 1, 4, 4)
    step.fill_(3)
    assert F.conv2d(x, weight, stride=(step, step)).shape == (1, 1, 2, 2)
    with pytest.raises(RuntimeError, match="non-positive stride") as caught:
        F.conv2d(x, weight, stride=[0, 0])
    assert caught.value.__context__ is None


@pytest.mark.parametrize(("call", "match"), [
    (lambda t, F: F.conv2d(t.ones(2, 3, 4, 4), t.ones(5, 2, 3, 3)), "to have 2 channels, but got 3"),
    (lambda t, F: F.conv2d(t.ones(3, 4), t.ones(5, 3, 3, 3)), r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv2d"),
    (lambda t, F: F.conv2d(t.ones(2, 3, 4, 4), t.ones(5, 3, 3)), None),
    (lambda t, F: F.conv2d(t.ones(2, 3, 4, 4), t.ones(5, 3, 3, 3).double()), "should be the same"),
    (lambda t, F: F.conv2d(t.ones(2, 3, 4, 4), t.ones(5, 3, 3, 3), t.ones(4)), "expected bias to be 1-dimensional with 5"),
    (lambda t, F: F.conv2d(t.ones(2, 3, 4, 4), t.ones(5, 3, 5, 5)), "Kernel size can't be greater than actual input size"),
    (lambda t, F: F.conv2d(t.ones(2, 4, 4, 4), t.ones(5, 2, 3, 3), groups=2), "to be divisible by 2 at dimension 0"),
    (lambda t, F: F.conv2d(t.ones(2, 3, 4, 4), t.ones(5, 3, 3, 3), groups=0), "non-positive groups is not supported"),
    (lambda t, F: F.conv2d(t.ones(2, 3, 4, 4), t.ones(5, 3, 3, 3), stride=0), "non-positive stride is not supported"),
    (lambda t, F: F.conv2d(t.ones(2, 3, 4, 4), t.ones(5, 3, 3, 3), padding=-1), "negative padding is not supported"),
    (lambda t, F: F.conv2d(t.ones(2, 3, 4, 4), t.ones(5, 3, 3, 3), padding="same", stride=2), "not supported for strided"),
    (lambda t, F: F.conv2d(t.ones(2, 3, 4, 4), t.ones(5, 3, 3, 3), padding="all"), "Invalid padding string"),
    (lambda t, F: F.conv2d(t.ones(2, 3, 4, 4), t.ones(5, 3, 3, 3), stride=(1, 2, 3)), "expected stride to be a single integer"),
])
def test_errors(call, match):
    raises_like_torch(call, match)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_matches_torch(options):
    groups = options.get("groups", 1)
    same_as_torch(lambda t, F, x, w, b: F.conv2d(x, w, b, **options),
                  uniform(2, 4, 6, 5), uniform(4, 4 // groups, 3, 2, seed=1), uniform(4, seed=2))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_complex_convolutions_are_made_of_real_ones(count: int, device: str) -> None:
    """With stride, padding, groups and bias; the transpose is the adjoint without conjugation."""
    numbers = np.random.default_rng(0)

    def random(*shape: int) -> lucid.Tensor:
        return lucid.tensor(numbers.normal(size=shape) + 1j * numbers.normal(size=shape), device=device)

    x, weight, bias = random(2, 4, *(5,) * count), random(6, 2, *(3,) * count), random(6)
    convolve, transpose = (getattr(F, f"{name}{count}d") for name in ("conv", "conv_transpose"))
    options = {"stride": 2, "padding": 1, "groups": 2}
    y = convolve(x, weight, bias, **options)
    real = convolve(x.real, weight.real, **options) - convolve(x.imag, weight.imag, **options)
    imaginary = convolve(x.real, weight.imag, **options) + convolve(x.imag, weight.real, **options)
    expected = lucid.complex(real, imaginary) + bias.reshape(-1, *(1,) * count)
    assert y.dtype == lucid.complex128 and lucid.allclose(y, expected)
    back = transpose(y, weight, **options)
    assert lucid.allclose((back * x).sum(), (y * (y - bias.reshape(-1, *(1,) * count))).sum())
    if count == 1:
        assert gradcheck(lambda *given: convolve(*given, **options), [t.requires_grad_() for t in (x, weight, bias)])


@pytest.mark.parametrize("channels", [3, 16])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_a_residual_before_relu(channels, dtype, device):
    """One operation: conv2d_relu adds what it is given to the convolution, and passes it its gradient."""
    from lucid.ops.nn.convolution import OPS

    arrays = uniform(2, channels, 5, 4), uniform(8, channels, 3, 3, seed=1), uniform(8, seed=2), uniform(2, 8, 3, 2, seed=3)
    geometry = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
    fused, apart = ([lucid.tensor(a, dtype=dtype, device=device).requires_grad_() for a in arrays] for _ in range(2))
    y = OPS[2].convolve_relu(*fused, **geometry)
    wanted = F.relu(F.conv2d(*apart[:3]) + apart[3])
    tolerance = 3e-2 if dtype == "bfloat16" else 1e-5
    close(y, wanted.detach().cpu().double().numpy(), rtol=tolerance)
    y.square().sum().backward()
    wanted.square().sum().backward()
    for one, other in zip(fused, apart, strict=True):
        scale = other.grad.abs().max().item()
        close(one.grad / scale, (other.grad / scale).cpu().double().numpy(), rtol=tolerance)
