"""Operations as functions: what they know of their rule, and what they leave to `Op`."""
import numpy as np
import pytest

import lucid
from lucid import nn
from lucid.autograd.calls import operation, single_op, view_op


def test_a_function_has_the_operands_and_attributes_of_its_rule():
    op = single_op("matmul", lambda needs, a, b, *, transpose_a=False, transpose_b=False: lambda g, y: (None, None))
    a, b = lucid.ones(3, 2), lucid.ones(3, 4)
    assert op.name == "matmul"
    assert op(a, b, transpose_a=True).shape == (2, 4)
    with pytest.raises(TypeError, match="transposed"):
        op(a, b, transposed=True)


def test_an_operation_of_any_operands_has_any_results():
    pair = operation("split", lambda needs, x, *, boundaries, axis: lambda g, y: (lucid.cat(g, axis),), view=True)
    x = lucid.arange(6.0, requires_grad=True)
    first, second = pair(x, boundaries=(2,), axis=0)
    assert first.grad_fn is not None and second._view[0] is x
    (first.sum() * 2 + second.sum()).backward()
    assert x.grad.tolist() == [2.0] * 2 + [1.0] * 4
    with pytest.raises(TypeError, match="parts"):
        pair(x, parts=2)
    joined = operation("concatenate", lambda needs, *inputs, axis: lambda g, y: g.chunk(3, axis))
    x.grad = None
    joined(x, x, x, axis=0).sum().backward()
    assert x.grad.tolist() == [3.0] * 6
    limits = operation("concatenate")  # without a rule it takes what the kernel takes
    assert limits(x, x, axis=0).shape == (12,) and not limits(x, x, axis=0).requires_grad
    with pytest.raises(TypeError, match="axes"):
        limits(x, axes=0)


def test_parameters_and_buffers_are_operands():
    weight = nn.Parameter(lucid.ones(2, 3))
    (lucid.ones(4, 2) @ weight).sum().backward()
    assert weight.grad.tolist() == [[4.0] * 3] * 2
    weight.grad = None
    weight.T.exp().sum().backward()
    np.testing.assert_allclose(weight.grad.numpy(), np.full((2, 3), np.e), rtol=1e-6)


def test_a_view_is_computed_again_after_a_write_to_its_base():
    x = lucid.arange(6.0, requires_grad=True)
    base = x * 1
    view = base.reshape(2, 3).T[1]
    base.mul_(x)
    view.sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 0.0, 0.0, 8.0, 0.0]
    assert view.grad_fn is not None and view_op("reshape", lambda needs, x, *, shape: None).name == "reshape"


def test_inference_tensors_are_not_saved():
    with lucid.inference_mode():
        x = lucid.ones(2)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        lucid.dot(lucid.ones(2, requires_grad=True), x)


def test_errors_are_those_of_the_kernel_and_only_raised_once():
    with pytest.raises(RuntimeError, match="op 'where' cannot broadcast") as raised:
        lucid.where(lucid.ones(2) > 0, lucid.ones(2), lucid.ones(3))
    assert isinstance(raised.value.__cause__, ValueError)

    @lucid.compile(fullgraph=True)
    def chosen(x):
        return x[x > 0]

    with pytest.raises(RuntimeError, match="depends on elements"):  # which a second try would not say
        chosen(lucid.ones(3))


@pytest.mark.parametrize("dtype", [lucid.float16, lucid.float32, lucid.float64])
def test_numbers_that_are_kept_keep_their_sign_and_size(dtype):
    x = lucid.tensor([1.0, -2.0], dtype=dtype)
    for zero in (0.0, -0.0, 0):
        expected = np.signbit(x.numpy() * dtype.type(zero))
        assert np.signbit((x * zero).numpy()).tolist() == np.signbit((zero * x).numpy()).tolist() == expected.tolist()
    for number in (float("nan"), float("inf"), 1e300, 3, 3.0, True):
        result = x + number
        assert result.dtype == dtype
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(result.numpy(), x.numpy() + np.asarray(number).astype(dtype))
    for number in range(600):  # more than are kept
        assert (x * number)[0].item() == number
