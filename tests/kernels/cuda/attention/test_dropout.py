"""Attention with dropout on tensor cores and in operations against float64, with the random words of `dropout`; masks of halves."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from lucid.backends.common import attention as common
from tests.kernels import attention_reference as reference
from tests.kernels.cuda.attention.test_flash_attention import close, nan

TOLERANCE = {np.dtype(np.float32): 2e-6, np.dtype(np.float16): 2e-3, np.dtype(ml_dtypes.bfloat16): 2e-2}
DRAW = {"p": 0.3, "seed": 0x1234567890ABCDEF, "offset": (1 << 64) - 5}  # the counter wraps around
# (batch, heads, groups, queries, keys, width, value width): keys of all remainders by the 4 numbers of a block
CASES = [((2, 4, 2, 9, 40, 24, 8), None), ((1, 2, 1, 70, 73, 8, 16), "causal"), ((2, 2, 2, 5, 35, 8, 5), (1, 0, 1, 1)),
         ((1, 1, 1, 3, 70, 33, 50), (0, 0, 0, 1))]


def factors(shape):
    """What dropout multiplies the probabilities by."""
    from lucid_kernels.cpu.random import random

    return random.dropout(np.ones(shape), **DRAW)


def expected(g, q, k, v, mask, is_causal, scale):
    """y, dq, dk and dv in float64."""
    g, q, k, v = (np.asarray(a, np.float64) for a in (g, q, k, v))
    (batch, heads), groups = q.shape[:2], k.shape[1]
    probabilities, _, _ = reference.attention(q, k, v, mask, scale, is_causal)
    drop, repeats = factors(probabilities.shape), heads // groups
    wide_k, wide_v = np.repeat(k, repeats, 1), np.repeat(v, repeats, 1)
    upstream = g @ wide_v.swapaxes(2, 3) * drop
    scores = probabilities * (upstream - (upstream * probabilities).sum(-1, keepdims=True)) * scale
    dk, dv = scores.swapaxes(2, 3) @ q, (probabilities * drop).swapaxes(2, 3) @ g
    gathered = (d.reshape(batch, groups, repeats, *d.shape[2:]).sum(2) for d in (dk, dv))
    return (probabilities * drop) @ wide_v, scores @ wide_k, *gathered


def check(cp, shape, mask, dtype):
    """`attention_dropout` and its gradient on outputs full of NaN."""
    from lucid_kernels.cuda.attention import attention, flash_attention

    table = attention.with_dropout(common.table(cp, {}))
    data = reference.data(shape, mask, dtype)
    wanted = expected(*data, mask == "causal", 0.3)
    g, q, k, v, bias = (None if a is None else cp.asarray(a) for a in data)
    assert flash_attention.serves(q, v)
    attributes = {"scale": 0.3, "is_causal": mask == "causal", **DRAW}
    out = cp.full((*q.shape[:3], v.shape[3]), np.nan, q.dtype), None, None, None
    y, *kept = table["attention_dropout"](q, k, v, bias, with_grad=True, **attributes, out=out)
    assert y is out[0]
    gradients = table["attention_dropout_grad"](g, q, k, v, bias, y, *kept, **attributes, out=tuple(nan(cp, x) for x in (q, k, v)))
    for got, exact in zip((y, *gradients), wanted, strict=True):
        assert got.dtype == q.dtype
        close(got, exact, TOLERANCE[np.dtype(dtype)])


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16], ids=lambda x: np.dtype(x).name)
@pytest.mark.parametrize(("shape", "mask"), CASES, ids=str)
def test_values_and_gradients(cp, shape, mask, dtype):
    check(cp, shape, mask, dtype)


def test_every_schedule(cp, schedule):
    check(cp, (1, 2, 1, 20, 37, 8, 8), "causal", np.float32)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_nothing_and_everything(cp, p):
    from lucid_kernels.cuda.attention import attention, flash_attention

    table = attention.with_dropout(common.table(cp, {}))
    _, q, k, v, _ = reference.data((1, 1, 1, 5, 9, 8, 8), None, np.float32)
    q, k, v = map(cp.asarray, (q, k, v))
    y = table["attention_dropout"](q, k, v, None, scale=0.3, is_causal=False, with_grad=False, p=p, seed=1, offset=2)[0].get()
    plain = flash_attention.attention(q, k, v, None, scale=0.3, is_causal=False, out=(None,) * 3)[0].get()
    np.testing.assert_array_equal(y, plain * (1 - p))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16], ids=lambda x: np.dtype(x).name)
def test_masks_are_read_in_their_dtype(cp, dtype):
    """A mask of halves beside operands of any dtype: nothing but the kernel runs."""
    from lucid_kernels.cuda.attention import flash_attention
    from lucid_kernels.cuda.runtime import driver

    for mask_dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
        _, q, k, v, mask = reference.data((2, 1, 1, 5, 35, 8, 8), (1, 0, 1, 1), dtype)
        mask = np.where(np.isfinite(mask), mask.astype(mask_dtype).astype(np.float64), -np.inf).astype(mask_dtype)
        wanted = reference.attention(q, k, v, mask, 0.3, False)[1]
        operands = [cp.asarray(a) for a in (q, k, v, mask)]
        before = driver.operations()
        y = flash_attention.attention(*operands, scale=0.3, is_causal=False, out=(None,) * 3)[0]
        assert before is None or driver.operations() == before + 1
        close(y, wanted, TOLERANCE[np.dtype(dtype)])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_the_same_in_operations(cp, dtype):
    """What serves where tensor cores do not, on NumPy and on CuPy."""
    from lucid.backends.cpu import backend as on_cpu
    from lucid.backends.gpu import backend as on_gpu

    attributes = {"scale": 0.3, "is_causal": True, **DRAW}
    data = reference.data((2, 4, 2, 9, 13, 8, 6), "causal", np.dtype(dtype))
    wanted, tolerance = expected(*data, True, 0.3), {"float64": 1e-14, "float32": 2e-6, "float16": 2e-3}[dtype]
    for xp, kernels in ((np, on_cpu.TABLE), (cp, on_gpu.TABLE)):
        table = common.table(xp, kernels)
        g, q, k, v, _ = (None if a is None else xp.asarray(a) for a in data)
        y, *kept = table["attention_dropout"](q, k, v, None, with_grad=True, **attributes)
        gradients = table["attention_dropout_grad"](g, q, k, v, None, y, *kept, **attributes)
        for got, exact in zip((y, *gradients), wanted, strict=True):
            assert got.dtype == q.dtype
            found = (got if xp is np else got.get()).astype(np.float64)
            assert np.linalg.norm(found - exact) <= tolerance * np.linalg.norm(exact)


def test_the_statistics_are_those_without_dropout(cp):
    """Dropout comes after the sum of the exponentials."""
    from lucid_kernels.cuda.attention import flash_attention

    _, q, k, v, _ = reference.data((1, 1, 1, 20, 40, 8, 8), None, np.float32)
    operands = [cp.asarray(a) for a in (q, k, v)]
    plain, dropped = (flash_attention.attention(*operands, None, scale=0.3, is_causal=False, out=(None,) * 3, draw=draw)
                      for draw in (None, (0.5, 1, 2)))
    assert not np.array_equal(plain[0].get(), dropped[0].get())
    for one, other in zip(plain[1:], dropped[1:], strict=True):
        np.testing.assert_array_equal(one.get(), other.get())
