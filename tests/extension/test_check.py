"""`check` passes right operations, and says what is wrong with others."""
from __future__ import annotations

import numpy as np
import pytest

from lucid import extension as ext

from . import kernels


def test_a_right_operation_passes():
    rows = {"weight": lambda shape: shape[-1:]}
    text = repr(ext.check(kernels.gated, kernels.reference, [(1, 3), (0, 5)], inputs=rows, devices=["cpu"]))
    text += repr(ext.check(kernels.gated, kernels.reference, [(2, 33)], inputs=rows, orders=1, devices=["gpu"]))
    assert "values, strides, inputs unchanged, meta, NaN: [2, 33] of bfloat16 on gpu" in text
    assert "gradients of two orders by differences: [1, 3] on cpu" in text
    assert "gradients by the reference: [2, 33] on gpu" in text


def test_formulas_pass():
    ext.check(ext.elementwise("x * k", k=0.5), lambda x: x * 0.5, [(2, 3)], devices=["cpu"])


def test_an_operation_that_writes_its_inputs():
    step = ext.op("checked_step(p!, g, *, lr) -> ()", cpu=lambda p, g, lr: np.subtract(p, lr * g, out=p))
    ext.check(step, lambda p, g, lr: p - lr * g, [(4, 3)], scalars={"lr": 0.5})


def op(function, **more):
    return ext.op("checked(x) -> y", cpu=function, **more)


def unwritten(x, y):
    y.reshape(-1)[1:] = 2 * x.reshape(-1)[1:]


def changes_its_input(x, y):
    y[...] = 2 * x
    x += 1


def ignores_nan(x, y):
    y[...] = 2 * np.nan_to_num(x)


@pytest.mark.parametrize(("function", "message"), [
    (unwritten, r"values, \[2, 3\] of float32 on cpu: 'y' is wrong in 1 of 6 elements: at \[0, 0\] it is .*nan"),
    (changes_its_input, "it writes to its input 'x'"),
    (ignores_nan, "a NaN in 'x' goes elsewhere"),
    (lambda x: x * 2.001, "'y' is wrong in 6 of 6")])
def test_wrong_values(function, message):
    with pytest.raises(AssertionError, match=message):
        ext.check(op(function), lambda x: 2 * x, [(2, 3)])


def test_strides_that_a_kernel_does_not_look_at():
    def flat(x, y):
        y.reshape(-1)[:] = 2 * np.lib.stride_tricks.as_strided(x, (x.size,), (x.itemsize,))

    with pytest.raises(AssertionError, match="strided inputs"):
        ext.check(op(flat, contiguous=False), lambda x: 2 * x, [(2, 3)])
    ext.check(op(flat), lambda x: 2 * x, [(2, 3)])


def test_wrong_gradients():
    double = op(lambda x: 2 * x)
    double.gradient("(grad_y, x) -> grad_x", cpu=lambda grad_y: 2.01 * grad_y)
    with pytest.raises(AssertionError, match=r"checked: gradients, \[2, 3\] on cpu"):
        ext.check(double, lambda x: 2 * x, [(2, 3)])
    with pytest.raises(AssertionError, match="the gradient of 'x' is not that of the reference"):
        ext.check(double, lambda x: 2 * x, [(20, 30)])
    square = op(lambda x: x * x)
    square.gradient("(grad_y, x) -> grad_x", cpu=lambda grad_y, x: 2 * x * grad_y, composed=lambda grad_y, x: 2 * x.detach() * grad_y)
    with pytest.raises(AssertionError, match="gradients"):
        ext.check(square, lambda x: x * x, [(2, 3)])
    ext.check(square, lambda x: x * x, [(2, 3)], orders=1)


def test_a_missing_barrier_is_found():
    source = kernels.SOURCE.replace("__syncthreads();  // of the sum", "")
    racy = ext.op("racy(x, gate, weight, *, eps=1e-6) -> y, scale", gpu=ext.cuda(source, "forward", block=64, grid="rows"),
                  like={"scale": lambda x: x.shape[:-1]}, dtypes="float32")
    from lucid_kernels.simulator import SimulatorError

    with pytest.raises(SimulatorError, match="part"):
        ext.check(racy, kernels.reference, [(3, 70)], inputs={"weight": lambda shape: shape[-1:]})
