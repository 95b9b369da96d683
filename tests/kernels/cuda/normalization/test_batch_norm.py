"""CUDA batch normalisation against float64 NumPy."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

# planes of all sizes; (9, 2, 1000) has more elements a channel than one chunk
SHAPES = [(5, 3), (33, 1), (9, 8), (4, 3, 1), (3, 2, 257), (2, 3, 16), (2, 3, 5, 7), (9, 2, 1000), (2, 2, 3, 4, 5), (1, 31, 4)]
TOLERANCE = {np.float32: {"rtol": 5e-5, "atol": 5e-5}, np.float64: {"rtol": 1e-11, "atol": 1e-11}}
HALVES = [np.float16, ml_dtypes.bfloat16]
EPS, MOMENTUM = 1e-3, 0.3


@pytest.fixture
def batch_norm(cp):
    from lucid_kernels.cuda.normalization import batch_norm

    return batch_norm


def spread(v, x):
    """(C,) as (1, C, 1, ...), to broadcast with x."""
    return np.asarray(v, np.float64).reshape(1, -1, *(1 for _ in x.shape[2:]))


def axes(x):
    return (0, *range(2, x.ndim))


def normalized(x, weight, bias, mean, rstd):
    weight = np.ones(x.shape[1]) if weight is None else weight
    bias = np.zeros(x.shape[1]) if bias is None else bias
    return (x - spread(mean, x)) * spread(rstd, x) * spread(weight, x) + spread(bias, x)


def reference(x, weight, bias, running_mean, running_var):
    """(y, mean, rstd, running_mean, running_var) in float64."""
    x = np.asarray(x, np.float64)
    count = x.size // x.shape[1]
    mean = x.mean(axes(x))
    var = ((x - spread(mean, x)) ** 2).mean(axes(x))
    rstd = 1 / np.sqrt(var + EPS)
    new_mean = None if running_mean is None else (1 - MOMENTUM) * running_mean + MOMENTUM * mean
    new_var = None if running_var is None else (1 - MOMENTUM) * running_var + MOMENTUM * var * count / (count - 1)
    return normalized(x, weight, bias, mean, rstd), mean, rstd, new_mean, new_var


def reference_grad(g, x, weight, mean, rstd, training):
    """(dx, dweight, dbias) in float64."""
    g, x = np.asarray(g, np.float64), np.asarray(x, np.float64)
    normal = normalized(x, None, None, mean, rstd)
    scale = spread(rstd, x) * (1 if weight is None else spread(weight, x))
    dweight, dbias = (g * normal).sum(axes(x)), g.sum(axes(x))
    if not training:
        return scale * g, dweight, dbias
    count = x.size // x.shape[1]
    return scale * (g - spread(dbias, x) / count - normal * spread(dweight, x) / count), dweight, dbias


def data(shape, dtype, seed=0):
    """g, x (around 3), weight, bias, running_mean, running_var."""
    rng = np.random.default_rng(seed)
    g, x = rng.standard_normal((2, *shape))
    weight, bias, mean = rng.standard_normal((3, shape[1]))
    return tuple(v.astype(dtype) for v in (g, x * 2 + 3, weight, bias, mean, rng.random(shape[1]) + 0.5))


def check(results, expected, dtype, **tolerance):
    for got, wanted in zip(results, expected, strict=True):
        if wanted is None:
            assert got is None
            continue
        assert got.dtype == dtype and got.shape == wanted.shape
        np.testing.assert_allclose(got.get(), wanted, **(tolerance or TOLERANCE[dtype]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("arrays", ["all", "no weight, no bias", "no running statistics"])
def test_training(batch_norm, cp, schedule, dtype, arrays):
    for shape in SHAPES:
        g, x, weight, bias, mean, var = data(shape, dtype)
        if "weight" in arrays:
            weight = bias = None
        if "running" in arrays:
            mean = var = None
        on_gpu = [None if v is None else cp.asarray(v) for v in (x, weight, bias, mean, var)]
        counter = cp.asarray(np.int64(2**40))
        results = batch_norm.batch_norm(*on_gpu, counter, momentum=MOMENTUM, eps=EPS)
        assert counter.item() == 2**40 + 1
        expected = reference(x, weight, bias, mean, var)
        check(results, expected, dtype)
        if mean is not None:
            np.testing.assert_array_equal(on_gpu[3].get(), mean)  # inputs are not written
        grads = batch_norm.batch_norm_grad(cp.asarray(g), on_gpu[0], on_gpu[1], *results[1:3])
        check(grads, reference_grad(g, x, weight, *expected[1:3], True), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("affine", [True, False])
def test_evaluation(batch_norm, cp, schedule, dtype, affine):
    for shape in SHAPES:
        g, x, weight, bias, mean, var = data(shape, dtype)
        if not affine:
            weight = bias = None
        on_gpu = [None if v is None else cp.asarray(v) for v in (x, weight, bias, mean, var)]
        rstd = 1 / np.sqrt(var.astype(np.float64) + EPS)
        y = batch_norm.batch_norm_eval(*on_gpu, eps=EPS)
        check([y], [normalized(x.astype(np.float64), weight, bias, mean, rstd)], dtype)
        grads = batch_norm.batch_norm_eval_grad(cp.asarray(g), on_gpu[0], on_gpu[1], *on_gpu[3:], eps=EPS)
        check(grads, reference_grad(g, x, weight, mean, rstd, False), dtype)


def test_many_chunks(batch_norm, cp, schedule, monkeypatch):
    for name, value in (("_KEPT", (64, 1)), ("_LARGEST", 32), ("_ROWS_A_CHUNK", 1)):
        monkeypatch.setattr(batch_norm, name, value)
    test_training(batch_norm, cp, schedule, np.float32, "all")


def test_running_statistics_in_place(batch_norm, cp, schedule):
    _, x, weight, bias, mean, var = data((4, 33, 5), np.float32)
    on_gpu = [cp.asarray(v) for v in (x, weight, bias, mean, var)]
    results = batch_norm.batch_norm(*on_gpu, momentum=MOMENTUM, eps=EPS, out=(None, None, None, *on_gpu[3:]))
    assert results[3] is on_gpu[3] and results[4] is on_gpu[4]
    check(results, reference(x, weight, bias, mean, var), np.float32)


def test_strides_and_out(batch_norm, cp):
    g, x, weight, bias, mean, var = data((6, 5, 4), np.float32)
    tg, tx = (cp.asarray(np.ascontiguousarray(v.T)).T for v in (g, x))
    vectors = [cp.asarray(v.repeat(2))[::2] for v in (weight, bias, mean, var)]
    expected = reference(x, weight, bias, mean, var)
    for order in ("C", "F"):
        out = tuple(cp.zeros(v.shape, np.float32, order=order) for v in expected)
        results = batch_norm.batch_norm(tx, *vectors, momentum=MOMENTUM, eps=EPS, out=out)
        assert all(a is b for a, b in zip(results, out, strict=True))
        check(results, expected, np.float32)
        out = tuple(cp.zeros(v.shape, np.float32, order=order) for v in (x, weight, bias))
        grads = batch_norm.batch_norm_grad(tg, tx, vectors[0], *results[1:3], out=out)
        assert all(a is b for a, b in zip(grads, out, strict=True))
        check(grads, reference_grad(g, x, weight, *expected[1:3], True), np.float32)
        y = cp.zeros(x.shape, np.float32, order=order)
        assert batch_norm.batch_norm_eval(tx, *vectors, eps=EPS, out=y) is y
        check([y], [normalized(x, weight, bias, mean, 1 / np.sqrt(var + EPS))], np.float32)
    strided = vectors[2:]
    results = batch_norm.batch_norm(tx, *vectors, momentum=MOMENTUM, eps=EPS, out=(None, None, None, *strided))
    assert results[3] is strided[0] and results[4] is strided[1]
    check(results, expected, np.float32)


def channels_last(cp, x):
    """x on the GPU with its channels last in memory."""
    axes = (0, *range(2, x.ndim), 1)
    return cp.asarray(np.ascontiguousarray(x.transpose(axes))).transpose(tuple(map(axes.index, range(x.ndim))))


def is_channels_last(array):
    return array.transpose(0, *range(2, array.ndim), 1).flags.c_contiguous


@pytest.mark.parametrize("dtype", [np.float32, np.float64, *HALVES])
@pytest.mark.parametrize("shape", [(2, 8, 5, 7), (3, 3, 11, 13), (2, 16, 3, 2, 4), (1, 40, 9, 9)])
def test_channels_last(batch_norm, cp, schedule, shape, dtype):
    g, x, weight, bias, mean, var = data(shape, dtype)
    tx, tg = channels_last(cp, x), channels_last(cp, g)
    vectors = [cp.asarray(v) for v in (weight, bias, mean, var)]
    expected = reference(x, *(v.astype(np.float64) for v in (weight, bias, mean, var)))
    results = batch_norm.batch_norm(tx, *vectors, momentum=MOMENTUM, eps=EPS)
    near(results, expected)
    assert is_channels_last(results[0])
    wanted = reference_grad(g, x, weight.astype(np.float64), *expected[1:3], True)
    out = channels_last(cp, np.full_like(x, np.nan))
    for grad in (tg, cp.asarray(g)):
        grads = batch_norm.batch_norm_grad(grad, tx, vectors[0], *results[1:3], out=(out, None, None))
        assert grads[0] is out
        near(grads, wanted)
    assert is_channels_last(batch_norm.batch_norm_grad(tg, tx, vectors[0], *results[1:3])[0])
    rstd = 1 / np.sqrt(var.astype(np.float64) + EPS)
    y = batch_norm.batch_norm_eval(tx, *vectors, eps=EPS)
    near([y], [normalized(x.astype(np.float64), *(v.astype(np.float64) for v in (weight, bias, mean)), rstd)])
    assert is_channels_last(y)


def near(results, expected, slack=1.0):
    """Half precision is rounded once, and float32 is near."""
    for got, wanted in zip(results, expected, strict=True):
        if got.dtype == np.float64:
            rounding, absolute = 1e-10, 1e-10
        else:
            rounding, absolute = (float(ml_dtypes.finfo(got.dtype).eps) * 0.51 if got.dtype.itemsize == 2 else 1e-4) * slack, 2e-4
        np.testing.assert_allclose(got.get().astype(np.float64), wanted, rtol=rounding, atol=absolute)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("parameters", ["half", "float32"])
def test_halves_are_rounded_once(batch_norm, cp, dtype, parameters):
    of_parameters = np.dtype(dtype if parameters == "half" else np.float32)
    halves, full = np.dtype(dtype), np.dtype(np.float32)
    for shape in ((4, 3, 33), (4, 3, 16), (6, 16), (2, 2, 600, 8)):
        g, x, *vectors = data(shape, dtype)
        vectors = [v.astype(of_parameters) for v in vectors]
        on_gpu, (tg, tx) = [cp.asarray(v) for v in vectors], map(cp.asarray, (g, x))
        weight, bias, mean, var = (v.astype(np.float64) for v in vectors)
        poisoned = (cp.asarray(np.full_like(x, np.nan)), None, None, None, None)
        results = batch_norm.batch_norm(tx, *on_gpu, momentum=MOMENTUM, eps=EPS, out=poisoned)
        assert [v.dtype for v in results] == [halves, full, full, *[of_parameters] * 2]
        expected = reference(x, weight, bias, mean, var)
        near(results, expected)
        grads = batch_norm.batch_norm_grad(tg, tx, on_gpu[0], *results[1:3], out=(cp.asarray(np.full_like(x, np.nan)), None, None))
        assert [v.dtype for v in grads] == [halves, *[of_parameters] * 2]
        near(grads, reference_grad(g, x, weight, *expected[1:3], True))
        rstd = 1 / np.sqrt(var + EPS)
        near([batch_norm.batch_norm_eval(tx, *on_gpu, eps=EPS)], [normalized(x.astype(np.float64), weight, bias, mean, rstd)])
        grads = batch_norm.batch_norm_eval_grad(tg, tx, on_gpu[0], *on_gpu[2:], eps=EPS)
        near(grads, reference_grad(g, x, weight, mean, rstd, False))


#: More elements than 256 threads have: columns whose threads stay in them, and others; planes of several packs.
OF_SEVERAL_TURNS = [(600, 16), (300, 24), (3, 5, 1000), (4, 7, 4 * 37)]


def compare_with_the_reference(batch_norm, cp, shape, dtype, **kinds):
    """Training, evaluation and their gradients, with the parameters of these dtypes."""
    g, x, weight, bias, mean, var = data(shape, np.float32)
    g, x = g.astype(dtype), x.astype(dtype)
    weight, bias = weight.astype(kinds.get("weight", dtype)), bias.astype(kinds.get("bias", dtype))
    tg, tx, *on_gpu = map(cp.asarray, (g, x, weight, bias, mean, var))
    vectors = [v.astype(np.float64) for v in (weight, bias, mean, var)]
    expected, rstd = reference(x, *vectors), 1 / np.sqrt(vectors[3] + EPS)
    results = batch_norm.batch_norm(tx, *on_gpu, momentum=MOMENTUM, eps=EPS)
    near(results, expected)
    near(batch_norm.batch_norm_grad(tg, tx, on_gpu[0], *results[1:3]), reference_grad(g, x, vectors[0], *expected[1:3], True))
    near([batch_norm.batch_norm_eval(tx, *on_gpu, eps=EPS)], [normalized(x.astype(np.float64), *vectors[:3], rstd)])
    grads = batch_norm.batch_norm_eval_grad(tg, tx, on_gpu[0], *on_gpu[2:], eps=EPS)
    near(grads, reference_grad(g, x, vectors[0], vectors[2], rstd, False))


@pytest.mark.parametrize("shape", OF_SEVERAL_TURNS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, *HALVES])
@pytest.mark.parametrize("blocks", [1, 5])
def test_threads_of_several_turns(batch_norm, cp, monkeypatch, shape, dtype, blocks):
    from lucid_kernels.cuda.runtime import launch

    for module, name, value in ((launch, "multiprocessors", lambda: 1), (launch, "_BLOCKS_PER_SM", blocks),
                                (batch_norm, "_COLUMN_BLOCKS", blocks)):
        monkeypatch.setattr(module, name, value)
    compare_with_the_reference(batch_norm, cp, shape, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, *HALVES])
def test_parameters_of_any_kind(batch_norm, cp, dtype):
    for weight, bias in ((np.float16, np.float32), (np.float64, ml_dtypes.bfloat16), (ml_dtypes.bfloat16, np.float16)):
        for shape in ((30, 16), (2, 3, 32)):
            compare_with_the_reference(batch_norm, cp, shape, dtype, weight=weight, bias=bias)


@pytest.mark.parametrize("dtype", [np.float32, *HALVES])
def test_parameters_that_start_anywhere(batch_norm, cp, dtype):
    """Packs of parameters are read only from multiples of 16 bytes."""
    g, x, *vectors = data((40, 16), dtype)
    moved = [cp.asarray(np.concatenate([np.full(1, np.nan, dtype), v]))[1:] for v in vectors]
    tg, tx, *aligned = map(cp.asarray, (g, x, *vectors))
    for parameters in (aligned, moved):
        results = batch_norm.batch_norm(tx, *parameters, momentum=MOMENTUM, eps=EPS)
        near(results, reference(x, *(v.astype(np.float64) for v in vectors)), slack=2)
        grads = batch_norm.batch_norm_grad(tg, tx, parameters[0], *results[1:3])
        near(grads, reference_grad(g, x, vectors[0].astype(np.float64), *(v.get() for v in results[1:3]), True), slack=2)


def test_columns_with_another_mean(batch_norm, cp):
    """The squares are summed around a chunk's first row, which may be far from the others."""
    _, x, *_ = data((300, 9), np.float32)
    x[0] += 500
    x[5, 3], x[6, 4] = np.inf, np.nan
    x[0, 5] = np.inf
    _, mean, rstd, _, _ = batch_norm.batch_norm(cp.asarray(x), None, None, None, None, momentum=MOMENTUM, eps=EPS)
    with np.errstate(invalid="ignore"):
        _, expected_mean, expected_rstd, _, _ = reference(x, None, None, None, None)
    np.testing.assert_allclose(mean.get(), expected_mean, rtol=1e-4)
    np.testing.assert_allclose(rstd.get(), expected_rstd, rtol=1e-4)


def test_nan_stays_in_its_channel(batch_norm, cp):
    g, x, *vectors = data((4, 3, 33), np.float32)
    x[1, 1, 2], x[2, 2, 3] = np.nan, np.inf
    on_gpu = [cp.asarray(v) for v in (x, *vectors)]
    results = batch_norm.batch_norm(*on_gpu, momentum=MOMENTUM, eps=EPS)
    y, mean, rstd, new_mean, _ = (v.get() for v in results)
    assert np.isfinite(y[:, 0]).all() and np.isnan(y[:, 1:]).all()
    assert np.isnan(mean[1]) and np.isinf(mean[2]) and np.isnan(rstd[1:]).all() and np.isinf(new_mean[2])
    dx = batch_norm.batch_norm_grad(cp.asarray(g), on_gpu[0], on_gpu[1], *results[1:3])[0].get()
    assert np.isfinite(dx[:, 0]).all() and np.isnan(dx[:, 1:]).all()


def test_large_mean(batch_norm, cp):
    _, x, *_ = data((9, 2, 1000), np.float32)
    x += 10_000
    _, _, rstd, _, _ = batch_norm.batch_norm(cp.asarray(x), None, None, None, None, momentum=MOMENTUM, eps=EPS)
    np.testing.assert_allclose(rstd.get(), reference(x, None, None, None, None)[2], rtol=1e-5)


def test_empty(batch_norm, cp):
    g, x, *vectors = data((0, 3, 4), np.float32)
    on_gpu = [cp.asarray(v) for v in vectors]
    y, mean, rstd, new_mean, new_var = batch_norm.batch_norm(cp.asarray(x), *on_gpu, momentum=MOMENTUM, eps=EPS)
    assert y.shape == (0, 3, 4) and mean.shape == rstd.shape == (3,)
    np.testing.assert_array_equal(new_mean.get(), vectors[2])
    np.testing.assert_array_equal(new_var.get(), vectors[3])
    dx, dweight, dbias = batch_norm.batch_norm_grad(cp.asarray(g), cp.asarray(x), on_gpu[0], mean, rstd)
    assert dx.shape == (0, 3, 4) and not dweight.get().any() and not dbias.get().any()
    assert batch_norm.batch_norm_eval(cp.asarray(x), *on_gpu, eps=EPS).shape == (0, 3, 4)


def test_parity_with_the_cpu(batch_norm, cp):
    cpu = pytest.importorskip("lucid_kernels.cpu.normalization.batch_norm")
    for shape in SHAPES:
        g, x, *vectors = data(shape, np.float32)
        gg, gx, *on_gpu = (cp.asarray(v) for v in (g, x, *vectors))
        expected = cpu.batch_norm(x, *vectors, momentum=MOMENTUM, eps=EPS)
        results = batch_norm.batch_norm(gx, *on_gpu, momentum=MOMENTUM, eps=EPS)
        check(results, expected, np.float32)
        check(
            batch_norm.batch_norm_grad(gg, gx, on_gpu[0], *results[1:3]),
            cpu.batch_norm_grad(g, x, vectors[0], *expected[1:3]), np.float32, rtol=1e-4, atol=2e-4,
        )  # fmt: skip
        check([batch_norm.batch_norm_eval(gx, *on_gpu, eps=EPS)], [cpu.batch_norm_eval(x, *vectors, eps=EPS)], np.float32)
        check(
            batch_norm.batch_norm_eval_grad(gg, gx, on_gpu[0], *on_gpu[2:], eps=EPS),
            cpu.batch_norm_eval_grad(g, x, vectors[0], *vectors[2:], eps=EPS), np.float32, rtol=1e-4, atol=2e-4,
        )  # fmt: skip
