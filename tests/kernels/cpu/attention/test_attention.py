"""Attention kernels on the CPU against NumPy in float64 and PyTorch."""
from __future__ import annotations

import ml_dtypes
import numba
import numpy as np
import pytest
from lucid_kernels.cpu.attention import products as attention_products
from lucid_kernels.cpu.attention.attention import attention, attention_grad
from lucid_kernels.cpu.attention.backward import backward
from lucid_kernels.cpu.attention.forward import forward
from lucid_kernels.cpu.matmul import inner
from lucid_kernels.cpu.runtime import tuning
from lucid_kernels.cpu.runtime.jit import REDUCE
from lucid_kernels.cpu.runtime.threads import get_num_threads, set_num_threads

from tests.kernels import attention_reference as reference

TOLERANCE = {np.float32: {"rtol": 1e-4, "atol": 2e-5}, np.float64: {"rtol": 1e-10, "atol": 1e-12}}
SCALE = 0.3


def forward_and_backward(g, q, k, v, mask, scale=SCALE, is_causal=False):
    y, *kept = attention(q, k, v, mask, scale=scale, is_causal=is_causal, with_grad=True)
    lse = reference.logarithms(*kept[:2], powers_of_two=mask is None)
    return (y, lse, *attention_grad(g, q, k, v, mask, y, *kept, scale=scale, is_causal=is_causal))


@pytest.fixture(params=["exponentials again", "exponentials kept"])
def either_way(request, monkeypatch):
    """The gradient computes the exponentials again, or the forward pass keeps them, whatever the shape."""
    monkeypatch.setattr(tuning, "ATTENTION_KEPT_WIDTH", 0)
    monkeypatch.setattr(tuning, "ATTENTION_KEPT_KEYS", 1000 if request.param == "exponentials kept" else 0)


@pytest.mark.parametrize("shape", [*reference.SHAPES, (1, 2, 1, 300, 520, 64, 64), (3, 8, 8, 64, 128, 64, 64), (1, 4, 2, 4, 75, 33, 120)])
@pytest.mark.parametrize("mask", reference.MASKS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.usefixtures("either_way")
def test_values_and_gradients(shape, mask, dtype):
    *arrays, additive = data = reference.data(shape, mask, dtype)
    before = [a.copy() for a in arrays]
    results = forward_and_backward(*data, is_causal=mask == "causal")
    for got, wanted in zip(results, reference.expected(*data, is_causal=mask == "causal"), strict=True):
        assert got.dtype == dtype
        assert got.flags.c_contiguous
        np.testing.assert_allclose(got, wanted, **TOLERANCE[dtype])
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)


def test_strides_and_out():
    g, q, k, v, mask = reference.data((2, 2, 2, 70, 9, 8, 6), (1, 0, 1, 1), np.float32)
    wanted = forward_and_backward(g, q, k, v, mask)
    flipped = [a[..., ::-1, :].copy()[..., ::-1, :] for a in (g, q, k, v, mask)]
    parts = [np.pad(a, [(0, 0)] * 3 + [(9, 32 - 9 - a.shape[3])], constant_values=np.nan)[..., 9 : 9 + a.shape[3]]
             for a in (g, q, k, v)]
    for strided in ([np.asfortranarray(a) for a in (g, q, k, v, mask)], flipped, [*parts, mask]):
        for got, plain in zip(forward_and_backward(*strided), wanted, strict=True):
            np.testing.assert_array_equal(got, plain)
    y, _, *grads = wanted
    plain = attention(q, k, v, mask, scale=SCALE, is_causal=False, with_grad=False)
    out = (np.zeros((2, 2, 6, 70), np.float32).swapaxes(2, 3), None, np.zeros((70, 2, 2), np.float32).T, None)
    results = attention(q, k, v, mask, scale=SCALE, is_causal=False, with_grad=False, out=out)
    assert results[0] is out[0] and results[2] is out[2]
    for got, same in zip(results[:3], plain, strict=False):
        np.testing.assert_array_equal(got, same)
    out = (np.zeros_like(q), np.zeros(k.shape), None)
    results = attention_grad(g, q, k, v, mask, y, *plain[1:], scale=SCALE, is_causal=False, out=out)
    assert results[0] is out[0] and results[1] is out[1]
    for got, plain in zip(results, grads, strict=True):
        np.testing.assert_array_equal(got, plain)


@pytest.mark.parametrize("shape", [(2, 4, 2, 128, 150, 32, 32), (1, 3, 3, 70, 40, 20, 33)])
@pytest.mark.parametrize("mask", [None, "causal"])
def test_heads_of_one_projection(shape, mask):
    """The heads are slices of one array, their rows lie apart; the result has the order of q in memory, as PyTorch's."""
    g, q, k, v, _ = reference.data(shape, mask, np.float32)
    plain = forward_and_backward(g, q, k, v, None, is_causal=mask == "causal")
    apart = [np.ascontiguousarray(a.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3) for a in (g, q, k, v)]
    results = forward_and_backward(*apart, None, is_causal=mask == "causal")
    assert results[0].transpose(0, 2, 1, 3).flags.c_contiguous
    for got, wanted in zip(results, plain, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("scale", [0.0, -0.7])
def test_any_scale(scale):
    data = reference.data((1, 2, 1, 70, 140, 8, 8), "causal", np.float32)
    for got, wanted in zip(forward_and_backward(*data, scale=scale, is_causal=True), reference.expected(*data, scale=scale, is_causal=True),
                           strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("key", [1, 40, 69])
@pytest.mark.usefixtures("either_way")
def test_nan_in_a_key_reaches_only_the_queries_that_see_it(key):
    g, q, k, v, _ = reference.data((1, 1, 1, 70, 70, 8, 8), None, np.float32)
    wanted = forward_and_backward(g, q, k, v, None, is_causal=True)
    k[0, 0, key, 3] = np.nan
    y, lse, *_ = forward_and_backward(g, q, k, v, None, is_causal=True)
    for got, clean in ((y, wanted[0]), (lse, wanted[1])):
        assert np.isnan(got[0, 0, key:]).all()
        np.testing.assert_array_equal(got[0, 0, :key], clean[0, 0, :key])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("mask_dtype", [None, np.float32])
def test_halves_are_computed_in_float32(dtype, mask_dtype):
    g, q, k, v, mask = reference.data((1, 2, 1, 40, 30, 8, 8), (0, 0, 1, 1), dtype)
    mask = mask.astype(mask_dtype or dtype)
    results = forward_and_backward(g, q, k, v, mask)
    assert [a.dtype for a in results] == [dtype, np.float32, dtype, dtype, dtype]
    y, *kept = attention(*(a.astype(np.float32) for a in (q, k, v, mask)), scale=SCALE, is_causal=False, with_grad=True)
    np.testing.assert_array_equal(results[0], y.astype(dtype))
    np.testing.assert_array_equal(results[1], reference.logarithms(*kept[:2]))
    wide = (a.astype(np.float32) for a in (g, q, k, v, mask, results[0]))
    for got, wanted in zip(results[2:], attention_grad(*wide, *kept, scale=SCALE, is_causal=False), strict=True):
        np.testing.assert_array_equal(got, wanted.astype(dtype))


@pytest.mark.parametrize("empty", range(7))
@pytest.mark.parametrize("causal", [False, True])
def test_empty(empty, causal):
    shape = [2, 2, 2, 3, 4, 5, 6]
    shape[empty] = 0
    if empty == 1:
        shape[2] = 0
    elif empty == 2:
        shape[1] = 0
    data = reference.data(shape, None, np.float32)
    for got, wanted in zip(forward_and_backward(*data, is_causal=causal), reference.expected(*data, is_causal=causal), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def test_exponentials_are_kept_only_for_a_gradient_of_few_queries_or_short_sequences_that_see_everything():
    _, q, k, v, _ = reference.data((1, 1, 1, 8, 256, 64, 3), None, np.float32)
    assert attention(q, k, v, None, scale=SCALE, is_causal=False, with_grad=True)[3] is not None
    assert attention(q, k, v, None, scale=SCALE, is_causal=False, with_grad=False)[3] is None
    assert attention(q, k, v, None, scale=SCALE, is_causal=True, with_grad=True)[3] is None
    k, v = (np.concatenate([a, a[:, :, :1]], 2) for a in (k, v))
    assert attention(q, k, v, None, scale=SCALE, is_causal=False, with_grad=True)[3] is None
    few = q[:, :, :4]
    assert attention(few, k, v, None, scale=SCALE, is_causal=False, with_grad=True)[3] is not None
    assert attention(few, k, v, None, scale=SCALE, is_causal=False, with_grad=False)[3] is None


def test_no_keys_with_a_mask():
    data = reference.data((2, 2, 2, 3, 0, 5, 6), (1, 1, 1, 1), np.float32)
    y, lse, *grads = forward_and_backward(*data)
    assert y.shape == (2, 2, 3, 6) and not y.any() and (lse == np.inf).all()
    assert not grads[0].any()


def test_all_masks_share_a_kernel():
    for mask in reference.MASKS:
        forward_and_backward(*reference.data((2, 2, 2, 5, 6, 8, 8), mask, np.float32), is_causal=mask == "causal")
    for kernel in (forward, backward):
        assert len(kernel.signatures) == len({arguments[-1] for arguments in kernel.signatures})


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", [1, 2, 3])
@pytest.mark.parametrize("queries", [4, 70])
@pytest.mark.usefixtures("either_way")
def test_nan_and_infinity_go_where_they_go_in_numpy(bad, where, queries):
    data = reference.data((1, 1, 1, queries, 5, 4, 3), None, np.float32)
    data[where][0, 0, 2, 1] = bad
    with np.errstate(invalid="ignore"):
        wanted = reference.expected(*data)
    for got, exact in zip(forward_and_backward(*data), wanted, strict=True):
        np.testing.assert_allclose(got, exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("lowest", reference.LOWEST)
@pytest.mark.parametrize("shape", [(1, 2, 1, 3, 16, 8, 8), (1, 2, 1, 70, 16, 8, 8), (1, 1, 1, 20, 300, 8, 8)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.usefixtures("either_way")
def test_rows_of_the_lowest_number_are_a_mean(lowest, shape, dtype):
    *arrays, mask = data = reference.masked_with(lowest, shape, dtype)
    for got, wanted in zip(forward_and_backward(*data), reference.expected(*data), strict=True):
        np.testing.assert_allclose(got, wanted, **TOLERANCE[dtype])


@pytest.mark.parametrize("width", [8, 64])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.usefixtures("either_way")
def test_equal_scores_however_large(width, causal):
    """Keys that are all the same share a query's attention, without a mask too, and gradients know of it."""
    g, q, k, v, _ = reference.data((1, 1, 1, 40, 20, width, 8), None, np.float32)
    k[:] = k[:, :, :1]
    y, _, _, _, dv = forward_and_backward(g, q * 1e15, k * 1e15, v, None, is_causal=causal)
    wanted = reference.expected(g, q * 0, k, v, None, is_causal=causal)
    np.testing.assert_allclose(y, wanted[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(dv, wanted[4], rtol=1e-5, atol=1e-5)


def test_large_scores():
    g, q, k, v, _ = reference.data((1, 1, 1, 20, 300, 8, 8), None, np.float32)
    data = (g, q * 100, k * 10, v, None)
    for got, wanted in zip(forward_and_backward(*data)[:2], reference.expected(*data)[:2], strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.usefixtures("either_way")
def test_results_do_not_depend_on_the_number_of_threads():
    data = reference.data((1, 2, 1, 200, 700, 16, 16), None, np.float32)
    whole = forward_and_backward(*data)
    threads = get_num_threads()
    set_num_threads(1)
    try:
        for got, wanted in zip(forward_and_backward(*data), whole, strict=True):
            np.testing.assert_array_equal(got, wanted)
    finally:
        set_num_threads(threads)


@pytest.mark.parametrize(("mask", "queries"), [*((mask, 256) for mask in reference.MASKS), (None, 1), ((1, 1, 1, 1), 1)], ids=str)
@pytest.mark.usefixtures("either_way")
def test_errors_are_within_twice_those_of_torch(mask, queries):
    torch = pytest.importorskip("torch")
    g, q, k, v, additive = reference.data((2, 2, 2, queries, 256, 64, 64), mask, np.float32)
    causal, scale = mask == "causal", 0.125
    tensors = [torch.tensor(a, requires_grad=True) for a in (q, k, v)]
    t_mask = None if additive is None else torch.tensor(additive)
    y = torch.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=t_mask, is_causal=causal)
    theirs = (y.detach(), *torch.autograd.grad(y, tensors, torch.tensor(g)))
    exact = reference.expected(g, q, k, v, additive, scale, causal)
    ours = forward_and_backward(g, q, k, v, additive, scale, causal)
    for index in range(4):
        wanted = exact[index + (index > 0)]
        error, bound = (np.abs(a - wanted).max() for a in (ours[index + (index > 0)], theirs[index].numpy()))
        assert error <= 2 * bound + 1e-7


def multiply_transposed(a, b, c, rows, columns, count, accumulate):
    """c[:rows, :columns] = a[:count, :rows].T @ b[:count, :columns]; else as `inner.multiply`."""
    for column in range(0, columns, inner.COLUMN_BLOCK_BYTES // a.itemsize):
        for row in range(0, rows, inner.ROW_BLOCK):
            inner.block_of_transposed(a, b, c, row, column, 0, count, accumulate)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("function", "transposed"), [(inner.multiply, False), (numba.njit(multiply_transposed), True)])
def test_products(dtype, function, transposed):
    rng = np.random.default_rng(0)
    columns = 2 * inner.COLUMN_BLOCK_BYTES // np.dtype(dtype).itemsize
    a, b = rng.standard_normal((48, 48)).astype(dtype), rng.standard_normal((48, columns)).astype(dtype)
    c = np.full((48, columns), 7, dtype)
    for count in (0, 1, 19):
        function(a, b, c, 24, columns, count, False)  # whole blocks, of 3 rows or 8
        wanted = (a.T if transposed else a)[:24, :count].astype(np.float64) @ b[:count]
        np.testing.assert_allclose(c[:24], wanted, rtol=1e-4, atol=1e-5)
        function(a, b, c, 9, columns // 2 + 1, count, True)  # rounded up to whole blocks
        rounded = -(-9 // inner.ROW_BLOCK) * inner.ROW_BLOCK
        np.testing.assert_allclose(c[:rounded], 2 * wanted[:rounded], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(c[rounded:24], wanted[rounded:], rtol=1e-4, atol=1e-5)
        assert (c[24:] == 7).all()


@pytest.mark.parametrize("visible", [1, 5, 30, 90])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_leave_out_what_is_hidden(dtype, visible):
    """Row r sees `visible` + r columns. What is hidden is NaN where it must not be read, and stays as it is in the result."""
    rng = np.random.default_rng(0)
    rows, seen, block = 96, 96, inner.ROW_BLOCK  # whole blocks, of 3 rows or 8
    columns = inner.COLUMN_BLOCK_BYTES // np.dtype(dtype).itemsize
    nothing = np.zeros((1, 4), np.int64)
    a, b, c = (rng.standard_normal(shape).astype(dtype) for shape in ((rows, 8), (8, seen), (seen, columns)))
    shown = np.arange(seen) < visible + np.arange(rows)[:, None]
    scores = np.full((rows, seen), np.nan, dtype)
    attention_products.score_products(a, b, scores, rows, seen, 8, visible, 1, nothing)
    np.testing.assert_allclose(scores[shown], (a @ b)[shown], rtol=1e-4, atol=1e-5)
    below = np.where(shown, a @ b, 0)
    # Blocks on the diagonal are read as a whole, what lies beyond them is not.
    beyond = np.arange(seen) >= visible + np.arange(rows)[:, None] // block * block + block - 1
    given = np.where(beyond, np.nan, below).astype(dtype)
    result = np.ones((rows, columns), dtype)
    attention_products.add_visible(given, c, result, rows, seen, visible, 1, True, nothing)
    np.testing.assert_allclose(result, 1 + below @ c, rtol=1e-4, atol=1e-4)
    given = np.where(np.arange(rows)[:, None] < np.arange(seen) // block * block - visible + 1, np.nan, below).astype(dtype)
    result = np.ones((seen, columns), dtype)
    attention_products.add_visible_transposed(given, c, result, seen, rows, visible, 1)
    np.testing.assert_allclose(result, 1 + below.T @ c, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("function", [inner.multiply.py_func, multiply_transposed])
def test_sums_of_products_stay_in_registers(function):
    """The loop over the terms writes nothing: no sum has been spilled to the stack."""
    fresh = numba.njit(fastmath=REDUCE, error_model="numpy")(function)  # nothing to read of what comes from the cache
    matrix, number = numba.float32[:, ::1], numba.int64
    fresh.compile((matrix, matrix, matrix, number, number, number, numba.boolean))
    (assembly,) = fresh.inspect_asm().values()
    loops = [block for block in inner_loops(assembly) if "vfmadd" in block]
    assert loops or "vfmadd" not in assembly
    for block in loops:
        assert not [line for line in block.splitlines() if line.strip().startswith("vmov") and line.endswith("(%rsp)")]


def inner_loops(assembly):
    """The basic blocks that jump back to their own label."""
    label, lines = None, []
    for line in assembly.splitlines():
        if line.endswith(":") and not line.startswith("\t"):
            label, lines = line[:-1], []
        elif label is not None:
            lines.append(line)
            if line.strip().startswith("j") and line.split()[-1] == label:
                yield "\n".join(lines)
