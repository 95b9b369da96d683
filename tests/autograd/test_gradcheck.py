"""gradcheck finds wrong gradients of every kind, and passes right ones."""
from __future__ import annotations

import numpy as np
import pytest

import lucid
from lucid.autograd import Function, GradcheckError, gradcheck, gradgradcheck


def tensor(*shape, device="cpu", dtype="float64"):
    rng = np.random.default_rng(0)
    values = rng.uniform(0.5, 2, shape)
    if dtype == "complex128":
        values = values + 1j * rng.uniform(0.5, 2, shape)
    return lucid.tensor(values, dtype=dtype, device=device, requires_grad=True)


class WrongScale(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2.1


class WrongSecond(Function):
    """The gradient of x ** 3 is right, but cut off from x."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, g):
        return g * 3 * ctx.saved_tensors[0].detach() ** 2


@pytest.mark.parametrize("fast_mode", [False, True])
def test_passes_right_gradients(device, fast_mode):
    def function(a, b):
        return a * b.exp(), (a / b).sum()

    inputs = (tensor(2, 3, device=device), tensor(3, device=device))
    assert gradcheck(function, inputs, fast_mode=fast_mode)
    assert gradgradcheck(function, inputs, fast_mode=fast_mode)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_finds_a_wrong_gradient_and_names_it(device, fast_mode):
    with pytest.raises(GradcheckError, match=r"output 0.*input 0.*numerical gradient.*analytical gradient"):
        gradcheck(WrongScale.apply, tensor(3, device=device), fast_mode=fast_mode)
    assert not gradcheck(WrongScale.apply, tensor(3, device=device), fast_mode=fast_mode, raise_exception=False)
    assert issubclass(GradcheckError, RuntimeError)


def test_the_message_has_both_numbers():
    with pytest.raises(GradcheckError, match=r"element \(0,\).*numerical gradient is (2\.0|1\.99)\d*.*analytical gradient 2\.1"):
        gradcheck(WrongScale.apply, tensor(1))


def test_finds_a_wrong_second_gradient():
    x = tensor(3)
    assert gradcheck(WrongSecond.apply, x)
    with pytest.raises(GradcheckError):
        gradgradcheck(WrongSecond.apply, x)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_complex_inputs_and_outputs(fast_mode):
    z, a = tensor(3, dtype="complex128"), tensor(3)
    assert gradcheck(lambda z, a: z * z.conj() * a, (z, a), fast_mode=fast_mode)
    assert gradcheck(lambda z: z.abs(), z, fast_mode=fast_mode)
    assert gradgradcheck(lambda z: z.exp() * z, z, fast_mode=fast_mode)


def test_a_missing_conjugate_is_found():
    class Square(Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    with pytest.raises(GradcheckError):
        gradcheck(Square.apply, tensor(2, dtype="complex128"))


def test_inputs_are_restored_and_gradients_left_alone(device):
    x = tensor(2, 2, device=device)
    before, version = x.tolist(), x._version
    gradcheck(lambda t: t * t, x)
    assert x.tolist() == before and x.grad is None and x._version == version


def test_inputs_read_by_another_way():
    weight = tensor(3)
    assert gradcheck(lambda *_: weight * weight, weight)


def test_non_contiguous_zero_dimensional_and_empty_inputs():
    base = tensor(2, 3).detach()
    assert gradcheck(lambda t: t.exp(), base.t().requires_grad_())
    assert gradcheck(lambda t: t.exp(), tensor())
    assert gradcheck(lambda t: t.exp(), tensor(0, 3))


def test_inputs_and_outputs_that_do_not_matter():
    x = tensor(3)
    mask = lucid.tensor([True, False, True])
    assert gradcheck(lambda t, m, scale: (t * m * scale, m), (x, mask, 2.0))
    assert gradcheck(lambda t: t.detach() * 0, x)
    with pytest.raises(GradcheckError, match="expected to be zero"):
        gradcheck(lambda t: t.detach() * 2, x)


def test_nondeterminism_is_found():
    calls = []

    class Noisy(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            calls.append(1)
            return g * (1 + 1e-7 * len(calls))

    with pytest.raises(GradcheckError, match="not reentrant"):
        gradcheck(Noisy.apply, tensor(1))
    assert gradcheck(Noisy.apply, tensor(1), nondet_tol=1e-4)


def test_arguments_that_cannot_be_checked():
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda t: t, lucid.tensor([1.0]))
    with pytest.warns(UserWarning, match="not a double precision"):
        gradcheck(lambda t: t * 2, tensor(1, dtype="float32"), atol=0.1, rtol=0.1)
    with pytest.raises(RuntimeError, match="stride 0"):
        gradcheck(lambda t: t * 2, tensor(1).detach().expand(3).requires_grad_())
    with pytest.raises(NotImplementedError):
        gradcheck(lambda t: t, tensor(1), check_batched_grad=True)


def test_gradgradcheck_takes_grad_outputs():
    x, g = tensor(2), tensor(2)
    assert gradgradcheck(lambda t: t ** 3, x, g)
    assert gradgradcheck(lambda t: t ** 3, x, gen_non_contig_grad_outputs=True)
