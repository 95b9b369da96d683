"""A list of tensors takes the steps that they would take one by one, bit for bit."""

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu import optimizer

from tests.kernels.cpu.test_optimizer import ADAM, ADAM_CASES, SGD, SGD_CASES

SIZES = (1, 0, 7, 16, 33, 1000, 16384, 5)
LARGE = (20_000, 3, 40_001, 16_384, 64)  # parts that begin and end inside of tensors, on several threads


def rows(sizes, width, dtype=np.float32):
    rng = np.random.default_rng(0)
    return [[np.asarray(abs(rng.standard_normal(size))).astype(dtype) for _ in range(width)] for size in sizes]


def copies(lists):
    return [[array.copy() for array in row] for row in lists]


def same(lists, others):
    for row, other in zip(lists, others, strict=True):
        for a, b in zip(row, other, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


def check_sgd(together, first, case):
    width = 3 if case["momentum"] else 2
    together = [row[:width] for row in together]
    for row, new in zip(together, first, strict=True):
        if new and width == 3:
            row[2][...] = 0  # as the contract asks
    alone = copies(together)
    optimizer.multi_tensor_sgd(*(a for row in together for a in row), first=first, **case)
    for row, new in zip(alone, first, strict=True):
        p, g, b = row if len(row) == 3 else (*row, None)
        optimizer.sgd(p, g, None if new else b, **case, out=(p, b))
    same(together, alone)


def check_adam(together, steps, case):
    together = [row[: 5 if case["amsgrad"] else 4] for row in together]
    alone = copies(together)
    optimizer.multi_tensor_adam(*(a for row in together for a in row), steps=steps, **case)
    for row, step in zip(alone, steps, strict=True):
        p, g, m, v, largest = row if len(row) == 5 else (*row, None)
        optimizer.adam(p, g, m, v, largest, step=step, **case, out=(p, m, v, largest))
    same(together, alone)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", [SIZES, LARGE], ids=["small", "large"])
def test_same_bits_as_one_by_one(sizes, dtype):
    for case in SGD_CASES:
        check_sgd(rows(sizes, 3, dtype), [number % 2 == 0 for number in range(len(sizes))], case)
    for case in ADAM_CASES:
        check_adam(rows(sizes, 5, dtype), [1.0 + number for number in range(len(sizes))], case)


def test_tensors_that_do_not_fit_go_alone():
    mixed = rows((6, 6), 5) + rows((6,), 5, np.float64) + rows((6,), 5, np.float16) + rows((6,), 5, ml_dtypes.bfloat16)
    mixed.append([np.asarray(a.reshape(2, 3).T) for a in rows((6,), 5)[0]])  # strided
    mixed.append([a[::2] for a in rows((12,), 5)[0]])
    mixed.append([a.reshape(()) for a in rows((1,), 5)[0]])
    check_adam(mixed, [3.0] * len(mixed), {**ADAM, "amsgrad": True})
    check_sgd(mixed, [False] * len(mixed), {**SGD, "dampening": 0.5})


def test_a_tensor_that_is_listed_twice_takes_two_steps():
    (row,) = rows((50,), 4)
    (alone,) = copies([row])
    optimizer.multi_tensor_adam(*row, *row, steps=[1.0, 2.0], **ADAM)
    p, g, m, v = alone
    for step in (1.0, 2.0):
        optimizer.adam(p, g, m, v, None, step=step, **ADAM, out=(p, m, v, None))
    same([row], [alone])


def test_read_only_gradients_and_no_tensors():
    (row,) = rows((50,), 2)
    (alone,) = copies([row])
    row[1].flags.writeable = False
    plain = {**SGD, "momentum": 0.0}
    optimizer.multi_tensor_sgd(*row, first=[False], **plain)
    optimizer.sgd(*alone, None, **plain, out=(alone[0], None))
    same([row], [alone])
    optimizer.multi_tensor_sgd(first=[], **plain)
    optimizer.multi_tensor_adam(steps=[], **ADAM)
    optimizer.multi_tensor_adam(*rows((0,), 4)[0], steps=[1.0], **ADAM)


def test_nan_and_inf_stay_in_their_tensor():
    together = rows((40, 40, 40), 5)
    together[1][1][3] = np.nan
    together[1][1][5] = np.inf
    check_adam(together, [1.0] * 3, {**ADAM, "amsgrad": True})
