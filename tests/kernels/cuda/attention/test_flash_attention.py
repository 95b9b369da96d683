"""Every configuration of the tensor-core kernels of attention against float64, and what TF32 in three products must not change."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cuda.runtime import source

from tests.kernels import attention_reference as reference

NAMES = {"float": np.dtype(np.float32), "__half": np.dtype(np.float16), "__nv_bfloat16": np.dtype(ml_dtypes.bfloat16)}
#: Of the norm of a result.
TOLERANCE = {"float": 1e-6, "__half": 1e-3, "__nv_bfloat16": 8e-3}
SCALE = 0.3


def _configurations():
    for name in source.instantiations(source.load("flash_attention")):
        kernel, _, arguments = name[:-1].partition("<")
        dtype, *numbers = arguments.split(", ")
        if numbers:
            yield kernel, dtype, tuple(map(int, numbers[:-1])), numbers[-1] == "true"


CONFIGURATIONS = list(_configurations())


@pytest.fixture
def flash(cp):
    from lucid_kernels.cuda.attention import flash_attention

    return flash_attention


def close(got, wanted, tolerance):
    got = got.get().astype(np.float64)
    assert got.shape == wanted.shape and np.isfinite(got).all()
    assert np.linalg.norm(got - wanted) <= tolerance * np.linalg.norm(wanted)


def nan(cp, x):
    return cp.full(x.shape, np.nan, x.dtype)


def check_configuration(flash, cp, monkeypatch, kernel, dtype, tiles, shape, mask):
    """One kernel, on outputs full of NaN."""
    tiles = flash.Tiles(*tiles)
    monkeypatch.setattr(flash, "_chosen", lambda name, *sizes: tiles if name == kernel else flash.choices(name, *sizes[:4])[0])
    g, q, k, v, bias = reference.data(shape, mask, NAMES[dtype])
    scale = shape[5] ** -0.5
    is_causal = mask == "causal"
    options = {"scale": scale, "is_causal": is_causal}
    _, wanted, logarithms = reference.attention(q, k, v, bias, scale, is_causal)
    on_device = [None if a is None else cp.asarray(a) for a in (g, q, k, v, bias)]
    g_, q_, k_, v_, bias_ = on_device
    tolerance = TOLERANCE[dtype]
    if kernel == "flash_attention":
        statistic = cp.full(q.shape[:3], np.nan, np.float32)
        out = cp.full(wanted.shape, np.nan, q.dtype), statistic, statistic.copy()
        y, shift, factor = flash.attention(*on_device[1:], **options, out=out)
        close(y, wanted, tolerance)
        found = reference.logarithms(shift.get() * np.float32(scale if bias is None else 1), factor.get())
        np.testing.assert_allclose(found, logarithms, rtol=1e-5, atol=1e-5)
        return
    dq, dk, dv = reference.gradients(g, q, k, v, bias, scale, is_causal)
    shift = logarithms.astype(np.float32) / np.float32(scale if bias is None else 1)  # with a factor of 1 but for blind rows
    factor = np.where(np.isinf(logarithms), 0, 1).astype(np.float32)
    y_ = cp.asarray(wanted.astype(q.dtype))
    results = flash.attention_grad(*on_device, y_, cp.asarray(shift), cp.asarray(factor), **options,
                                   out=tuple(nan(cp, x) for x in (q_, k_, v_)))
    for got, exact in zip(results, (dq, dk, dv), strict=True):
        close(got, exact, 4 * tolerance)


@pytest.mark.parametrize(("kernel", "dtype", "tiles", "is_plain"), CONFIGURATIONS,
                         ids=lambda x: "-".join(map(str, x)) if isinstance(x, tuple) else {True: "plain", False: "masked"}.get(x, x))
def test_every_configuration(flash, cp, monkeypatch, kernel, dtype, tiles, is_plain):
    width, rows = tiles[0], 16 * tiles[1] * tiles[2]
    for lengths, widths, mask in [((35, rows + 3), (width, width - 8), "causal"), ((70, 5), (width - 3, width), None)]:
        few_and_many = lengths if kernel == "flash_attention_grad_key_value" else (lengths[1], 70)
        heads = (1, 2, 1) if mask else (1, 1, 1)
        given = mask if is_plain else (0, 0, 1, 1)
        check_configuration(flash, cp, monkeypatch, kernel, dtype, tiles, (*heads, *few_and_many, *widths), given)


def test_the_launcher_chooses_among_what_is_compiled(flash):
    tables = {(name, flash.TYPES[dtype.name], tuple(tiles), is_plain) for dtype in NAMES.values()
              for name, (table, _) in flash.KERNELS.items() for tiles in table[dtype.itemsize]
              for is_plain in (True, False) if is_plain or tiles.blocks == 1}
    assert tables == set(CONFIGURATIONS)


def test_what_was_measured_comes_first(flash, cp, monkeypatch, tmp_path):
    from lucid_kernels.cuda.runtime import tuning

    device = cp.cuda.runtime.getDevice()
    problem = "flash_attention", 4, 64, device, True, 1, 128
    monkeypatch.setattr(tuning, "FOLDER", tmp_path)
    try:
        tuning.table.cache_clear(), flash._chosen.cache_clear()
        before = flash._chosen(*problem)
        tuning.write(cp.cuda.Device(device).compute_capability, {flash.key("flash_attention", 4, 64, True, 1, 128): [1]})
        flash._chosen.cache_clear()
        assert (before, flash._chosen(*problem)) == tuple(flash.choices("flash_attention", 4, 64, device, True))
    finally:
        monkeypatch.undo()
        tuning.table.cache_clear(), flash._chosen.cache_clear()


def test_more_rows_where_they_fill_the_device(flash, cp, monkeypatch, tmp_path):
    from lucid_kernels.cuda.runtime import launch, tuning

    monkeypatch.setattr(tuning, "FOLDER", tmp_path)  # where nothing was measured
    try:
        tuning.table.cache_clear(), flash._chosen.cache_clear()
        few, many = (flash._chosen("flash_attention", 4, 64, cp.cuda.runtime.getDevice(), True, heads, 128)
                     for heads in (1, launch.multiprocessors()))
        assert (few.rows, many.rows) == (64, 128)
    finally:
        monkeypatch.undo()
        tuning.table.cache_clear(), flash._chosen.cache_clear()


@pytest.mark.parametrize("memory", [99 << 10, 0])
def test_only_what_fits_a_device_is_chosen(flash, cp, monkeypatch, memory):
    monkeypatch.setattr(flash, "_shared_memory", lambda device: memory)
    flash.choices.cache_clear()
    for dtype in NAMES.values():
        for width in (8, 64, 128, 256):
            x = cp.zeros((1, 1, 1, width), dtype)
            assert flash.serves(x, x) == (memory > 0)
    flash.choices.cache_clear()


def test_float64_and_wide_heads_are_left_to_the_other_kernels(flash, cp):
    assert not flash.serves(*[cp.zeros((1, 1, 1, 8))] * 2)
    assert not flash.serves(cp.zeros((1, 1, 1, 8), np.float32), cp.zeros((1, 1, 1, 257), np.float32))


def test_float32_is_as_exact_as_without_tensor_cores(flash, cp):
    from lucid_kernels.cuda.attention import attention

    _, q, k, v, _ = reference.data((1, 1, 1, 20, 500, 64, 64), None, np.float32)
    wanted = reference.attention(q, k, v, None, SCALE, False)[1]
    options = {"scale": SCALE, "is_causal": False, "out": (None,) * 3}
    operands = [cp.asarray(a) for a in (q, k, v)]
    errors = [np.linalg.norm(f(*operands, None, **options)[0].get() - wanted) for f in (flash.attention, attention._attention)]
    assert errors[0] < 1.5 * errors[1]


def test_the_gradient_has_the_scores_of_the_forward_pass(flash, cp):
    """Bit for bit: scores of 1e6 that differ in the last would make other probabilities."""
    data = reference.data((1, 1, 1, 30, 30, 16, 16), None, np.float32)
    g, q, k, v = (cp.asarray(a) for a in data[:4])
    options = {"scale": 1e6, "is_causal": False, "out": (None,) * 3}
    dv = flash.attention_grad(g, q, k, v, None, *flash.attention(q, k, v, None, **options), **options)[2]
    close(dv, reference.gradients(*data, 1e6, False)[2], 1e-6)


def test_numbers_that_tf32_rounds_to_infinity(flash, cp):
    _, q, k, v, _ = reference.data((1, 1, 1, 3, 5, 8, 8), None, np.float32)
    v[0, 0, 2, 1] = np.finfo(np.float32).max
    v[0, 0, 4, 3] = -np.inf
    y = flash.attention(*(cp.asarray(a) for a in (q, k, v)), None, scale=SCALE, is_causal=False, out=(None,) * 3)[0].get()
    np.testing.assert_allclose(y, reference.attention(q, k, v, None, SCALE, False)[1], rtol=1e-3)


def test_a_nan_of_low_bits(flash, cp):
    _, q, k, v, _ = reference.data((1, 1, 1, 3, 5, 8, 8), None, np.float32)
    v.view(np.uint32)[0, 0, 2, 1] = 0x7F800001
    y = flash.attention(*(cp.asarray(a) for a in (q, k, v)), None, scale=SCALE, is_causal=False, out=(None,) * 3)[0].get()
    assert np.isnan(y[..., 1]).all() and np.isfinite(np.delete(y, 1, -1)).all()


@pytest.mark.parametrize("scale", [-0.5, 0.0])
def test_a_scale_that_is_not_positive(flash, cp, scale):
    data = reference.data((1, 1, 1, 9, 20, 8, 8), None, np.float32)
    g, q, k, v = (cp.asarray(a) for a in data[:4])
    y, *kept = flash.attention(q, k, v, None, scale=scale, is_causal=False, out=(None,) * 3)
    grads = flash.attention_grad(g, q, k, v, None, y, *kept, scale=scale, is_causal=False, out=(None,) * 3)
    close(y, reference.attention(*data[1:4], None, scale, False)[1], 1e-6)
    for got, wanted in zip(grads, reference.gradients(*data[:4], None, scale, False), strict=True):
        np.testing.assert_allclose(got.get(), wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_is_read_and_written_as_it_is(flash, cp, dtype):
    from lucid_kernels.cuda.attention import attention

    data = reference.data((1, 2, 1, 70, 66, 16, 16), (0, 0, 1, 1), dtype)
    g, q, k, v, mask = (cp.asarray(a) for a in data)
    options = {"scale": SCALE, "is_causal": False}
    for bias in (mask, mask.astype(np.float32)):
        y, *kept = attention.attention(q, k, v, bias, **options, with_grad=True)
        grads = attention.attention_grad(g, q, k, v, bias, y, *kept, **options)
        assert [a.dtype for a in (y, *kept[:2], *grads)] == [dtype, np.float32, np.float32, dtype, dtype, dtype]
        wanted = reference.attention(*data[1:], SCALE, False)[1], *reference.gradients(*data, SCALE, False)
        for got, exact in zip((y, *grads), wanted, strict=True):
            close(got, exact, 2e-3 if dtype == np.float16 else 1.6e-2)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("width", [8, 5])
def test_heads_of_a_projection_are_read_as_they_lie(flash, cp, monkeypatch, dtype, width):
    length, batch, heads = 35, 2, 3
    rng = np.random.default_rng(0)
    joined = cp.asarray(rng.standard_normal((length, batch, 3, heads, width)).astype(dtype))
    q, k, v = (joined[:, :, i].transpose(1, 2, 0, 3) for i in range(3))
    g = cp.asarray(rng.standard_normal((length, batch, heads, width)).astype(dtype)).transpose(1, 2, 0, 3)
    options = {"scale": SCALE, "is_causal": True, "out": (None,) * 3}
    plain = [cp.ascontiguousarray(x) for x in (g, q, k, v)]
    y, *kept = flash.attention(*plain[1:], None, **options)
    wanted = y, *flash.attention_grad(*plain, None, y, *kept, **options)
    monkeypatch.setattr(cp, "ascontiguousarray", lambda x: pytest.fail("a copy"))
    y, *kept = flash.attention(q, k, v, None, **options)
    for got, exact in zip((y, *flash.attention_grad(g, q, k, v, None, y, *kept, **options)), wanted, strict=True):
        np.testing.assert_array_equal(got.get(), exact.get())
        assert got.transpose(2, 0, 1, 3).flags.c_contiguous  # so joining the heads again is no copy


def test_keys_of_which_there_is_one_in_memory(flash, cp):
    q, k, v = (cp.asarray(a) for a in reference.data((2, 2, 2, 9, 40, 8, 8), None, np.float32)[1:4])
    options = {"scale": SCALE, "is_causal": False, "out": (None,) * 3}
    one = cp.broadcast_to(k[:1, :1], k.shape), cp.broadcast_to(v[:1, :1], v.shape)
    y, many = (flash.attention(q, *pair, None, **options)[0] for pair in (one, map(cp.ascontiguousarray, one)))
    np.testing.assert_array_equal(y.get(), many.get())


def test_memory_that_is_not_aligned(flash, cp):
    data = [cp.asarray(a) for a in reference.data((1, 1, 1, 9, 20, 8, 8), None, np.float16)[1:4]]
    shifted = []
    for x in data:
        memory = cp.empty(x.size + 1, x.dtype)
        memory[1:] = x.reshape(-1)
        shifted.append(memory[1:].reshape(x.shape))
    options = {"scale": SCALE, "is_causal": False, "out": (None,) * 3}
    y, wanted = (flash.attention(*operands, None, **options)[0] for operands in (shifted, data))
    np.testing.assert_array_equal(y.get(), wanted.get())
