"""Products by cuBLASLt with a bias, an activation or the gradient of a bias in the epilogue: against float64 NumPy, and as the steps
one by one.
"""
from __future__ import annotations

import threading
import warnings

import ml_dtypes
import numpy as np
import pytest

TOLERANCE = {np.float32: 1e-5, np.float16: 2e-3, ml_dtypes.bfloat16: 1e-2}


@pytest.fixture
def epilogues(cp):
    from lucid_kernels.cuda.matmul import epilogues

    return epilogues


@pytest.fixture
def table(cp):
    from lucid import backends

    return backends.gpu_module().TABLE


def is_simulated(cp):
    return hasattr(cp.cuda, "simulated_driver")


def launched(cp, call):
    """The result of a call, and on the simulator the number of its kernels and products, else None."""
    if not is_simulated(cp):
        return call(), None
    launches = cp.cuda.simulated_driver.launches
    launches.clear()
    return call(), len(launches)


def is_served(cp, found):
    """Whether there is a result: always on the simulator, while a GPU's library may lack some, or compute them otherwise."""
    assert found is not None or not is_simulated(cp)
    return found is not None


def data(shape, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def close(found, expected, dtype, width):
    assert found.dtype == dtype and found.shape == expected.shape and found.flags.c_contiguous
    np.testing.assert_allclose(found.get().astype(np.float64), expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * 4 * width**0.5)


#: Views of the array of rows, of the weight and of the bias, and their shapes before that.
CASES = [
    ((5, 3), (4, 3), (4,), lambda *arrays: arrays), ((2, 3, 7), (33, 7), (33,), lambda *arrays: arrays),
    ((3, 66), (17, 3), (18,), lambda x, w, b: (x.T, w, b[1:])),
    ((8, 12), (10, 6), (10,), lambda x, w, b: (x[::2, 1:7], w, b[::-1])), ((6, 5), (5, 9), (18,), lambda x, w, b: (x, w.T, b[::2])),
    ((4, 9), (5, 9), (5,), lambda x, w, b: (x[:, 1:], w[:, 1:], b)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_linear_with_bias(epilogues, cp, dtype):
    for *shapes, view in CASES:
        x, weight, bias = (data(shape, dtype, seed) for seed, shape in enumerate(shapes))
        found = epilogues.linear(*view(*map(cp.asarray, (x, weight, bias))))
        x, weight, bias = (array.astype(np.float64) for array in view(x, weight, bias))
        if is_served(cp, found):
            close(found, x @ weight.T + bias, dtype, x.shape[-1])


def slope(activation, x):
    if activation == "relu":
        return ~(x <= 0)
    u, du = (2 / np.pi) ** 0.5 * (x + 0.044715 * x**3), (2 / np.pi) ** 0.5 * (1 + 3 * 0.044715 * x**2)
    return 0.5 * (1 + np.tanh(u)) + 0.5 * x * (1 - np.tanh(u) ** 2) * du


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_activations(epilogues, cp, activation, dtype):
    for *shapes, view in [*CASES, ((4, 9), (8, 9), (8,), lambda *arrays: arrays), ((2, 3, 9), (16, 9), (16,), lambda *arrays: arrays)]:
        x, weight, bias = (data(shape, dtype, seed) for seed, shape in enumerate(shapes))
        views = view(*map(cp.asarray, (x, weight, bias)))
        x, weight, bias = (array.astype(np.float64) for array in view(x, weight, bias))
        before = x @ weight.T + bias
        after = np.maximum(before, 0)
        if activation == "gelu":
            after = 0.5 * before * (1 + np.tanh((2 / np.pi) ** 0.5 * (before + 0.044715 * before**3)))
        for keep in (False, True):
            found = epilogues.activated(*views, activation, keep)
            if activation == "gelu" and keep and len(bias) % 8:
                assert found is None  # rows of the argument would not begin where the library wants it
                continue
            if not is_served(cp, found):
                continue
            close(found[0], after, dtype, x.shape[-1])
            assert (found[1] is None) == (not keep)
            if not keep:
                continue
            if activation == "gelu":
                close(found[1], before, dtype, x.shape[-1])
            g, weight2 = data((found[0].size // len(bias), 6), dtype, 3), data((6, len(bias)), dtype, 4)
            argument = found[0] if activation == "relu" else found[1]
            gradient = epilogues.activation_gradient(cp.asarray(g), cp.asarray(weight2), found[1], argument, activation)
            rows = (after if activation == "relu" else argument.get().astype(np.float64)).reshape(-1, len(bias))
            wanted = g.astype(np.float64) @ weight2.astype(np.float64) * slope(activation, rows)
            if not is_served(cp, gradient):
                continue
            close(gradient[0], wanted, dtype, 6)
            close(gradient[1], wanted.sum(0), dtype, 6 * len(rows))


@pytest.mark.parametrize("problem", ["nan", "numbers"])
def test_an_activation_that_is_not_ours_is_not_used(table, cp, monkeypatch, problem):
    """NaN that becomes 0, and a coarse approximation."""
    if not is_simulated(cp):
        pytest.skip("the simulator alone can be told to compute otherwise")
    from cupy import cublas_lt
    from lucid_kernels.cuda.matmul import epilogues
    from lucid_kernels.cuda.runtime import recording

    if problem == "nan":
        monkeypatch.setattr(cublas_lt, "drops_nan", True)
    else:
        monkeypatch.setattr(cublas_lt, "_gelu", lambda x: x / (1 + np.exp(-1.702 * x)))
    name, options = ("linear_relu", {}) if problem == "nan" else ("linear_gelu", {"keep": True})
    monkeypatch.setattr(epilogues, "tried", {})
    recording.forget()
    x, weight, bias = (cp.asarray(data(shape, np.float32, seed)) for seed, shape in enumerate(((6, 5), (8, 5), (8,))))
    x[0, 0] = np.nan
    before = x.get() @ weight.get().T + bias.get()
    for _ in range(3):
        found = table[name](x, weight, bias, **options)
        if problem == "nan":
            np.testing.assert_allclose(found.get(), np.where(before < 0, 0, before), rtol=1e-5, atol=1e-5)
        else:
            wanted = 0.5 * before * (1 + np.tanh((2 / np.pi) ** 0.5 * (before + 0.044715 * before**3)))
            np.testing.assert_allclose(found[0].get(), wanted, rtol=1e-5, atol=1e-5)
    recording.forget()


def test_an_activation_is_one_product_after_its_trial(table, cp, monkeypatch):
    """Also with NaN and infinities among the elements."""
    from lucid_kernels.cuda.matmul import epilogues
    from lucid_kernels.cuda.runtime import recording

    monkeypatch.setattr(epilogues, "tried", {})
    recording.forget()
    x, weight, bias = (cp.asarray(data(shape, np.float32, seed)) for seed, shape in enumerate(((7, 5), (8, 5), (8,))))
    x[0], x[1], x[2] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        for name, options in (("linear_relu", {}), ("linear_gelu", {"keep": True})):
            expected, counts = table["linear"](x, weight, bias), []
            expected = table[name.removeprefix("linear_")](expected, **({"approximate": "tanh"} if options else {})).get()
            for _ in range(3):
                found, count = launched(cp, lambda name=name, options=options: table[name](x, weight, bias, **options))
                found = found[0] if options else found
                counts.append(count)
                np.testing.assert_allclose(found.get(), expected, rtol=1e-5, atol=1e-5)
            assert counts == [None] * 3 or counts[0] > counts[1] == counts[2] == 1


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_gradients_of_weight_and_bias(epilogues, cp, dtype):
    for rows, out, columns in ((5, 3, 4), (33, 17, 2), (64, 8, 40)):
        g, x = data((rows, out), dtype), data((rows, columns), dtype, 1)
        for g_view, x_view in ((g, x), (np.asfortranarray(g), x), (g, np.asfortranarray(x)), (np.broadcast_to(g[:1], g.shape), x)):
            given = cp.broadcast_to(cp.asarray(g[:1]), g.shape) if not g_view.strides[0] else cp.asarray(g_view)
            found = epilogues.weight_gradient(given, cp.asarray(x_view))
            if not is_served(cp, found):
                continue
            to_weight, to_bias = found
            close(to_weight, g_view.astype(np.float64).T @ x.astype(np.float64), dtype, rows)
            close(to_bias, g_view.astype(np.float64).sum(0), dtype, rows)


def test_a_gradient_that_is_one_number(epilogues, cp, monkeypatch):
    """As that of a sum: no matrix that the library can read, in its trial neither."""
    monkeypatch.setattr(epilogues, "tried", {})
    g, x = cp.broadcast_to(cp.asarray(np.float32(2)), (5, 3)), data((5, 8), np.float32)
    found = epilogues.weight_gradient(g, cp.asarray(x))
    if is_served(cp, found):
        close(found[0], np.full((3, 5), 2.0) @ x, np.float32, 5)
        close(found[1], np.full(3, 10.0), np.float32, 5)


def test_what_is_left_to_others(epilogues, cp):
    """float64, which the library lacks, other dtypes, rows of one element, and nothing."""
    for dtype in (np.float64, np.complex64, np.int64):
        x, bias = cp.asarray(data((4, 3), dtype)), cp.asarray(data((4,), dtype))
        assert epilogues.linear(x, x, bias) is None and epilogues.weight_gradient(x, x) is None
    x = cp.ones((4, 3), np.float32)
    for shapes in (((1, 3), (4, 3), (4,)), ((4, 1), (4, 1), (4,)), ((4, 3), (1, 3), (1,)), ((0, 3), (4, 3), (4,))):
        assert epilogues.linear(*(cp.ones(shape, np.float32) for shape in shapes)) is None
    assert epilogues.linear(x, x, cp.ones(4, np.float16)) is None


def test_nan_and_infinity(table, cp):
    x = cp.asarray(np.array([[np.nan, 1], [np.inf, 2], [1, 1]], np.float32))
    weight, bias = cp.asarray(np.array([[1, 0], [2, 3], [0, 1]], np.float32)), cp.asarray(np.array([1, -np.inf, np.nan], np.float32))
    with np.errstate(invalid="ignore"):
        expected = x.get() @ weight.get().T + bias.get()
        np.testing.assert_array_equal(table["linear"](x, weight, bias).get(), expected)
        to_weight, to_bias = table["linear_grad"](x, x, None, with_bias=True)[1:]
        np.testing.assert_array_equal(to_weight.get(), x.get().T @ x.get())
        np.testing.assert_array_equal(to_bias.get(), x.get().sum(0))


def test_it_is_one_product_and_repeated_with_other_arrays(table, cp):
    """By plans, with pointers of each call's own, and without."""
    for number in range(4):  # with the first ones the library's kernels are tried
        x, weight, bias = (cp.asarray(data(shape, np.float32, seed)) for seed, shape in enumerate(((6, 5), (4, 5), (4,)), number))
        y, count = launched(cp, lambda x=x, weight=weight, bias=bias: table["linear"](x, weight, bias))
        gradients, more = launched(cp, lambda x=x, weight=weight, y=y: table["linear_grad"](y, x, weight, with_bias=True))
        assert not number or (count, more) in ((1, 2), (None, None))  # one for the input, one for weight and bias
        close(y, x.get() @ weight.get().T + bias.get(), np.float32, 5)
        for found, expected in zip(gradients, (y.get() @ weight.get(), y.get().T @ x.get(), y.get().sum(0)), strict=True):
            close(found, expected, np.float32, 20)


def test_addresses_that_are_not_aligned(table, cp):
    """An algorithm for aligned ones is not used for others, nor the other way round."""
    x, weight, bias = (data(shape, np.float32, seed) for seed, shape in enumerate(((6, 5), (4, 5), (4,))))
    for shift in (0, 1, 2, 0, 1):
        moved = []
        for array in (x, weight, bias):
            flat = cp.zeros(array.size + shift, np.float32)
            flat[shift:] = cp.asarray(array).ravel()
            moved.append(flat[shift:].reshape(array.shape))
        close(table["linear"](*moved), x @ weight.T + bias, np.float32, 5)


@pytest.mark.parametrize("missing", ["library", "algorithm", "product"])
def test_without_the_library_the_steps_are_computed_one_by_one(table, cp, monkeypatch, missing):
    from lucid_kernels.cuda.matmul import blas_lt, epilogues
    from lucid_kernels.cuda.runtime import recording

    if missing == "library":
        monkeypatch.setattr(blas_lt, "is_there", lambda: False)
    elif missing == "algorithm":
        monkeypatch.setattr(blas_lt, "_find", lambda problem: None)
    else:
        monkeypatch.setattr(blas_lt.Product, "write", lambda *arguments: False)
    monkeypatch.setattr(blas_lt, "_products", {})
    monkeypatch.setattr(epilogues, "tried", {})
    recording.forget()
    x, weight, bias = (cp.asarray(data(shape, np.float32, seed)) for seed, shape in enumerate(((6, 5), (4, 5), (4,))))
    for _ in range(2):
        close(table["linear"](x, weight, bias), x.get() @ weight.get().T + bias.get(), np.float32, 5)
        close(table["linear_grad"](x, x, None, with_bias=True)[2], x.get().sum(0), np.float32, 5)
        close(table["linear_relu"](x, weight, bias), np.maximum(x.get() @ weight.get().T + bias.get(), 0), np.float32, 5)
    recording.forget()


@pytest.mark.parametrize("name", ["Matmul", "MatmulAlgoGetHeuristic", "MatmulDescCreate", "MatrixLayoutCreate"])
def test_a_library_that_fails_is_used_no_more(table, cp, monkeypatch, name):
    """One warning says so, and the steps are computed one by one."""
    from lucid_kernels.cuda.matmul import blas_lt, epilogues
    from lucid_kernels.cuda.runtime import recording

    if is_simulated(cp):
        from cupy import cublas_lt

        monkeypatch.setitem(cublas_lt.failures, f"cublasLt{name}", 14)
    else:
        function = blas_lt._function
        monkeypatch.setattr(blas_lt, "_function", lambda asked: (lambda *_: 14) if asked == name else function(asked))
    for where, attribute, value in ((blas_lt, "_products", {}), (blas_lt, "_failures", []), (epilogues, "tried", {})):
        monkeypatch.setattr(where, attribute, value)
    recording.forget()
    x, weight, bias = (cp.asarray(data(shape, np.float32, seed)) for seed, shape in enumerate(((6, 5), (4, 5), (4,))))
    expected = x.get() @ weight.get().T + bias.get()
    with pytest.warns(RuntimeWarning, match=f"cublasLt{name} failed with status 14, .* 6 x 5 by 5 x 4"):
        close(table["linear"](x, weight, bias), expected, np.float32, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            close(table["linear"](x, weight, bias), expected, np.float32, 5)
            close(table["linear_grad"](x, x, None, with_bias=True)[2], x.get().sum(0), np.float32, 5)
            close(table["linear_relu"](x, weight, bias), np.maximum(expected, 0), np.float32, 5)
    recording.forget()


def test_without_a_function_the_library_is_used_no_more(cp, monkeypatch):
    from lucid_kernels.cuda.matmul import blas_lt

    monkeypatch.setitem(blas_lt._ARGUMENTS, "Nothing", (blas_lt._i,))
    monkeypatch.setattr(blas_lt.driver, "address", lambda name: getattr(None, name))
    with pytest.raises(blas_lt.Failed, match="cuBLASLt has no function cublasLtNothing"):
        blas_lt._function("Nothing")


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_sums_that_are_not_ours_are_not_used(epilogues, cp, monkeypatch, dtype):
    """Of a library that forgets to add the bias, or to sum it."""
    if not is_simulated(cp):
        pytest.skip("the simulator alone can be told to compute otherwise")
    from cupy import cublas_lt

    monkeypatch.setattr(cublas_lt, "_vector", lambda address, size, kind: np.zeros(size, kind))
    monkeypatch.setattr(epilogues, "tried", {})
    x, bias = cp.asarray(data((6, 5), dtype)), cp.asarray(data((6,), dtype, 1))
    assert epilogues.linear(x, x, bias) is None and epilogues.weight_gradient(x, x) is None


def test_an_activation_is_not_tried_in_a_capture(table, cp, monkeypatch):
    """Where the host cannot look at results: then the steps are captured one by one."""
    from lucid_kernels.cuda.matmul import epilogues

    x, weight, bias = (cp.asarray(data(shape, np.float32, seed)) for seed, shape in enumerate(((6, 5), (8, 5), (8,))))
    table["linear_relu"](x, weight, bias), table["linear"](x, weight, bias)
    stream = cp.cuda.Stream(non_blocking=True)
    cp.cuda.Device().synchronize()  # such a stream does not wait for the default one
    for tried in (True, False):
        if not tried:
            monkeypatch.setattr(epilogues, "tried", {})
        pool = cp.cuda.MemoryPool()  # what is captured keeps its memory, of results between the steps too
        with stream:
            with cp.cuda.using_allocator(pool.malloc):
                stream.begin_capture()
                y = table["linear_relu"](x, weight, bias)
                graph = stream.end_capture()
            graph.launch()
            stream.synchronize()
        close(y, np.maximum(x.get() @ weight.get().T + bias.get(), 0), np.float32, 5)


def test_it_can_be_captured(table, cp):
    x, weight, bias = (cp.asarray(data(shape, np.float32, seed)) for seed, shape in enumerate(((6, 5), (4, 5), (4,))))
    other = weight[:, 0].copy()
    table["linear"](x, weight, bias)
    stream = cp.cuda.Stream(non_blocking=True)
    cp.cuda.Device().synchronize()  # such a stream does not wait for the default one
    with stream:
        stream.begin_capture()
        y = table["linear"](x, weight, bias)
        kept = table["linear"](x, weight, other)  # whose bias must not become that of the first
        graph = stream.end_capture()
        bias += 1
        graph.launch()
        stream.synchronize()
    close(y, x.get() @ weight.get().T + bias.get(), np.float32, 5)
    close(kept, x.get() @ weight.get().T + other.get(), np.float32, 5)


def test_threads_share_a_plan(table, cp):
    """Each product adds the bias of its own call."""
    x, weight = cp.asarray(data((6, 5), np.float32)), cp.asarray(data((4, 5), np.float32, 1))
    plain = x.get() @ weight.get().T
    table["linear"](x, weight, cp.zeros(4, np.float32))
    wrong = []

    def work(number):
        bias = cp.asarray(np.full(4, number, np.float32))
        for _ in range(30):
            if np.abs(table["linear"](x, weight, bias).get() - plain - number).max() > 1e-3:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in (100, 200, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_tf32_where_it_is_allowed(table, cp):
    import lucid

    x, weight, bias = (data(shape, np.float32, seed) for seed, shape in enumerate(((40, 64), (24, 64), (24,))))
    exact = x.astype(np.float64) @ weight.astype(np.float64).T + bias
    on_gpu = [cp.asarray(array) for array in (x, weight, bias)]

    def error():
        return np.abs(table["linear"](*on_gpu).get() - exact).max()

    assert max(error(), error()) < 1e-4
    try:
        lucid.backends.cuda.matmul.allow_tf32 = True
        assert 1e-4 < error() < 0.1 and 1e-4 < error() < 0.1
    finally:
        lucid.backends.cuda.matmul.allow_tf32 = False
    assert error() < 1e-4
