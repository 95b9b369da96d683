"""Convolution against naive loops in float64, adjoints and PyTorch."""
import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.convolution.conv2d import conv2d, conv2d_grad_input, conv2d_grad_parameters, conv2d_grad_weight
from lucid_kernels.cpu.convolution.direct import few_outputs, grad_input_strided
from lucid_kernels.cpu.convolution.direct import forward as direct_forward
from lucid_kernels.cpu.convolution.direct import grad_weight as direct_grad_weight
from lucid_kernels.cpu.convolution.direct import packed_weight as direct_packed_weight
from lucid_kernels.cpu.runtime import tuning
from lucid_kernels.cpu.runtime.threads import STARTED_THREADS, THREADS

# (input shape, weight shape, stride, padding, dilation, groups)
CASES = {
    "plain": ((2, 3, 7, 6), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "strided": ((3, 2, 9, 8), (3, 2, 3, 2), (2, 3), (1, 0), (1, 1), 1),
    "dilated": ((2, 2, 10, 9), (3, 2, 3, 3), (1, 2), (2, 1), (2, 3), 1),
    "grouped": ((3, 4, 6, 5), (6, 2, 3, 3), (2, 1), (1, 2), (1, 1), 2),
    "row kernel": ((2, 3, 4, 9), (2, 3, 1, 5), (1, 1), (0, 2), (1, 1), 1),
    "kernel covers the padded input": ((2, 2, 3, 4), (3, 2, 5, 8), (1, 1), (1, 2), (1, 1), 1),
    "taps only in the padding": ((1, 1, 2, 1), (2, 1, 3, 3), (1, 1), (3, 4), (2, 3), 1),
    "pointwise": ((3, 5, 4, 3), (4, 5, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "pointwise grouped": ((2, 4, 4, 3), (6, 2, 1, 1), (1, 1), (0, 0), (1, 1), 2),
    "pointwise strided": ((2, 4, 5, 5), (3, 4, 1, 1), (2, 2), (0, 0), (1, 1), 1),
    "one pixel": ((5, 6, 1, 1), (4, 6, 1, 1), (2, 3), (0, 0), (1, 2), 1),
    "taps of the whole image": ((3, 2, 4, 5), (6, 2, 4, 5), (1, 2), (0, 0), (1, 1), 1),
    "taps of the whole image, grouped": ((3, 4, 4, 5), (6, 2, 4, 5), (1, 1), (0, 0), (1, 1), 2),
    "pointwise padded": ((2, 4, 3, 3), (3, 4, 1, 1), (1, 1), (1, 2), (1, 1), 1),
    "depthwise": ((2, 3, 7, 6), (3, 1, 3, 3), (1, 1), (1, 1), (1, 1), 3),
    "depthwise multiplied": ((2, 3, 7, 8), (6, 1, 3, 2), (2, 3), (1, 1), (2, 1), 3),
    "depthwise padded more than the kernel": ((2, 3, 5, 4), (3, 1, 2, 3), (1, 1), (3, 2), (2, 1), 3),
    "depthwise dilated": ((2, 3, 7, 6), (3, 1, 2, 3), (1, 1), (1, 2), (3, 2), 3),
    "depthwise outside": ((1, 2, 2, 1), (2, 1, 3, 3), (1, 1), (3, 4), (2, 3), 2),
    "empty batch": ((0, 3, 5, 5), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "empty batch depthwise": ((0, 3, 5, 5), (3, 1, 3, 3), (1, 1), (1, 1), (1, 1), 3),
}
LARGE = {
    "large": ((3, 16, 30, 29), (8, 16, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "large, 3 outputs": ((2, 20, 30, 31), (3, 20, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "large, 1 output": ((3, 40, 17, 19), (1, 40, 5, 4), (1, 2), (2, 1), (1, 1), 1),
    "large, one pixel": ((40, 300, 1, 1), (270, 300, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "large, one image of few positions": ((1, 40, 9, 10), (76, 40, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    "large, one image of 7x7": ((1, 40, 7, 7), (37, 40, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "large, one image to 7x7": ((1, 21, 14, 13), (32, 21, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    "large grouped, one image of 7x7": ((1, 60, 7, 7), (60, 20, 5, 3), (1, 1), (2, 1), (1, 1), 3),
    "large, one image of 17x17": ((1, 30, 17, 17), (37, 30, 1, 7), (1, 1), (0, 3), (1, 1), 1),
    "large grouped, one image of few positions": ((1, 36, 9, 7), (60, 12, 3, 3), (1, 1), (1, 1), (1, 1), 3),
    "large pointwise, strided": ((2, 41, 31, 30), (32, 41, 1, 1), (2, 3), (0, 0), (1, 1), 1),
    "large pointwise, padded": ((3, 20, 13, 14), (40, 20, 1, 1), (1, 2), (1, 0), (1, 1), 1),
    "large patches": ((2, 3, 22, 33), (20, 3, 5, 8), (5, 8), (0, 0), (1, 1), 1),
    "large patches, few pixels": ((2, 7, 17, 16), (9, 7, 8, 8), (8, 8), (0, 0), (1, 1), 1),
    "large, one column": ((3, 20, 30, 1), (32, 20, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "large, 3x3 taps around one pixel": ((40, 30, 1, 1), (37, 30, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "large, dilated beyond the image": ((2, 20, 9, 8), (24, 20, 3, 3), (1, 1), (12, 7), (12, 7), 1),
    "large grouped, one row": ((40, 32, 1, 9), (32, 8, 3, 3), (2, 2), (1, 1), (1, 1), 4),
    "large depthwise, 5x5 taps around two pixels": ((40, 64, 1, 2), (64, 1, 5, 5), (1, 1), (2, 2), (1, 1), 64),
    "large depthwise": ((2, 40, 30, 31), (40, 1, 5, 3), (2, 2), (2, 1), (1, 1), 40),
    "large depthwise, strides of 1": ((2, 41, 30, 31), (41, 1, 5, 3), (1, 1), (2, 1), (1, 1), 41),
    "large grouped": ((5, 32, 14, 15), (64, 8, 3, 3), (2, 2), (1, 1), (1, 1), 4),
    "large grouped, small planes": ((5, 40, 7, 7), (24, 10, 3, 3), (1, 1), (1, 1), (1, 1), 4),
    "large grouped, 5 outputs a group": ((3, 12, 30, 29), (20, 3, 3, 3), (1, 1), (1, 1), (1, 1), 4),
    "large grouped, 4 outputs a group": ((2, 128, 20, 20), (128, 4, 3, 3), (1, 1), (1, 1), (1, 1), 32),
    "large grouped, 2 outputs a group": ((2, 32, 30, 30), (32, 2, 3, 3), (1, 1), (1, 1), (1, 1), 16),
    "large grouped, pointwise": ((3, 16, 17, 17), (48, 8, 1, 1), (1, 1), (0, 0), (1, 1), 2),
    "large grouped, dilated": ((2, 24, 18, 18), (24, 8, 5, 5), (1, 1), (2, 2), (2, 2), 3),
    "large depthwise, three outputs each": ((2, 20, 30, 31), (60, 1, 3, 3), (1, 1), (1, 1), (1, 1), 20),
    "large depthwise, 7x7": ((2, 20, 30, 31), (20, 1, 7, 7), (1, 1), (3, 3), (1, 1), 20),
    "large depthwise, 3x3, strides of 2": ((2, 40, 31, 30), (40, 1, 3, 3), (2, 2), (1, 1), (1, 1), 40),
    "large depthwise, 3x3, strides of 2, two outputs each": ((2, 20, 30, 31), (40, 1, 3, 3), (2, 2), (0, 1), (1, 1), 20),
    "large depthwise, 5x5, strides of 2": ((2, 20, 31, 33), (20, 1, 5, 5), (2, 2), (2, 2), (1, 1), 20),
    "large depthwise, 4x4, strides of 2": ((2, 20, 31, 30), (40, 1, 4, 4), (2, 2), (1, 1), (1, 1), 20),
    "large depthwise, dilated": ((2, 20, 130, 131), (20, 1, 3, 3), (1, 2), (2, 2), (2, 1), 20),
}
# Strides of 1 and results of the size of the input: sizes around the blocks of channels, taps and positions.
SAME = {
    f"same {case}": (*case, (1, 1), padding, dilation, 1)
    for case, padding, dilation in [
        (((1, 1, 1, 1), (1, 1, 3, 3)), (1, 1), (1, 1)),
        (((9, 1, 8, 8), (16, 1, 3, 3)), (1, 1), (1, 1)),
        (((2, 3, 7, 5), (7, 3, 3, 3)), (1, 1), (1, 1)),
        (((3, 2, 4, 4), (8, 2, 3, 3)), (1, 1), (1, 1)),
        (((17, 5, 8, 8), (9, 5, 3, 3)), (1, 1), (1, 1)),
        (((2, 4, 5, 13), (12, 4, 5, 3)), (2, 1), (1, 1)),
        (((2, 3, 3, 33), (15, 3, 1, 5)), (0, 2), (1, 1)),
        (((2, 3, 9, 1), (17, 3, 7, 1)), (3, 0), (1, 1)),
        (((2, 3, 9, 10), (5, 3, 3, 3)), (2, 3), (2, 3)),
        (((2, 2, 2, 2), (4, 2, 5, 7)), (2, 3), (1, 1)),
    ]
}
# Strides, and results of another size than the input.
STRIDED = {
    f"strided {case}": (*case, stride, padding, dilation, 1)
    for case, stride, padding, dilation in [
        (((2, 3, 17, 19), (8, 3, 7, 7)), (2, 2), (3, 3), (1, 1)),
        (((3, 5, 9, 8), (16, 5, 3, 3)), (2, 2), (1, 1), (1, 1)),
        (((2, 4, 12, 11), (9, 4, 1, 1)), (2, 3), (0, 0), (1, 1)),
        (((2, 4, 8, 12), (16, 4, 1, 1)), (1, 1), (0, 0), (1, 1)),
        (((2, 5, 32, 32), (8, 5, 1, 1)), (1, 1), (0, 0), (1, 1)),
        (((2, 5, 7, 5), (16, 5, 1, 1)), (1, 1), (0, 0), (1, 1)),
        (((2, 8, 65, 64), (8, 8, 2, 2)), (2, 2), (0, 0), (1, 1)),
        (((2, 3, 11, 13), (6, 3, 3, 4)), (3, 2), (2, 1), (2, 3)),
        (((2, 3, 12, 10), (5, 3, 3, 2)), (2, 4), (2, 3), (2, 2)),
        (((2, 3, 8, 9), (7, 3, 3, 3)), (1, 1), (0, 0), (1, 1)),
        (((2, 3, 6, 5), (7, 3, 2, 3)), (1, 1), (3, 4), (1, 2)),
        (((3, 9, 15, 14), (5, 9, 4, 4)), (2, 2), (1, 1), (1, 1)),
        (((2, 17, 1, 70), (3, 17, 1, 5)), (1, 3), (0, 2), (1, 1)),
        (((2, 5, 1, 9), (4, 5, 3, 5)), (4, 3), (1, 2), (1, 1)),
        (((2, 5, 1, 37), (9, 5, 1, 5)), (1, 2), (0, 2), (1, 1)),
        (((1, 4, 1, 170), (8, 4, 1, 9)), (1, 4), (0, 3), (1, 2)),
        (((2, 4, 1, 40), (8, 4, 1, 4)), (1, 1), (0, 5), (1, 3)),
        (((1, 3, 120, 1), (4, 3, 7, 1)), (3, 1), (2, 0), (1, 1)),
        (((1, 5, 11, 12), (3, 5, 5, 3)), (4, 2), (0, 1), (2, 4)),
        (((1, 4, 2, 3), (3, 4, 4, 5)), (3, 4), (2, 3), (1, 1)),
    ]
}
# Few results in a group, of the convolution or of its input gradient.
FEW = {
    f"{results} of {channels} in each of {groups} groups, {size} pixels, {taps} taps": (
        (samples, channels * groups, *size), (results * groups, channels, *taps), stride, padding, (1, 1), groups)
    for results, channels, groups, samples, size, taps, stride, padding in [
        (1, 40, 1, 1, (30, 31), (1, 1), (1, 1), (0, 0)),
        (3, 40, 1, 2, (29, 30), (1, 1), (1, 1), (0, 0)),
        (2, 5, 3, 2, (12, 13), (1, 1), (1, 1), (0, 0)),
        (4, 4, 8, 17, (7, 7), (3, 3), (1, 1), (1, 1)),
        (4, 3, 5, 2, (14, 15), (3, 3), (2, 2), (1, 1)),
        (2, 1, 7, 3, (9, 10), (5, 4), (1, 1), (2, 1)),
        (16, 3, 1, 2, (40, 41), (7, 7), (2, 2), (3, 3)),
        (20, 1, 1, 2, (30, 28), (3, 3), (1, 1), (1, 1)),
        (9, 2, 1, 1, (30, 28), (5, 2), (3, 1), (1, 0)),
    ]
}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def naive(x, weight, bias, stride, padding, dilation, groups):
    """Cross-correlation, one output at a time."""
    (n, _, h, w), (o, depth, kh, kw) = x.shape, weight.shape
    padded = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    oh = (h + 2 * padding[0] - dilation[0] * (kh - 1) - 1) // stride[0] + 1
    ow = (w + 2 * padding[1] - dilation[1] * (kw - 1) - 1) // stride[1] + 1
    y = np.empty((n, o, oh, ow))
    for k in range(o):
        first = k // (o // groups) * depth
        for i, j in np.ndindex(oh, ow):
            top, left = i * stride[0], j * stride[1]
            window = padded[
                :, first : first + depth, top : top + dilation[0] * kh : dilation[0],
                left : left + dilation[1] * kw : dilation[1],
            ][:, :, :kh, :kw]
            y[:, k, i, j] = (window * weight[k]).sum((1, 2, 3)) + bias[k]
    return y


def data(case, dtype=np.float64):
    x_shape, weight_shape, stride, padding, dilation, groups = case
    rng = np.random.default_rng(0)
    x, weight, bias = (rng.normal(size=s).astype(dtype) for s in (x_shape, weight_shape, weight_shape[:1]))
    return x, weight, bias, {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


def check(case, dtype=np.float64, tolerance=1e-10):
    x, weight, bias, attributes = data(case, dtype)
    before = [a.copy() for a in (x, weight, bias)]
    y = conv2d(x, weight, bias, **attributes)
    wanted = naive(x, weight, bias, **attributes)
    assert y.shape == wanted.shape
    assert y.dtype == dtype
    np.testing.assert_allclose(y, wanted, rtol=tolerance, atol=tolerance)
    linear = wanted - bias.reshape(1, -1, 1, 1)
    np.testing.assert_allclose(conv2d(x, weight, None, **attributes), linear, rtol=tolerance, atol=tolerance)
    # The convolution is linear in x and in weight, so its gradients are its adjoints.
    g = np.random.default_rng(1).normal(size=y.shape).astype(dtype)
    inner = pytest.approx(float((g * linear).sum()), rel=tolerance, abs=1e3 * tolerance)
    dx = conv2d_grad_input(g, weight, input_shape=x.shape, **attributes)
    dweight = conv2d_grad_weight(g, x, weight_shape=weight.shape, **attributes)
    assert dx.shape == x.shape
    assert dweight.shape == weight.shape
    assert (dx * x).sum() == inner
    assert (dweight * weight).sum() == inner
    both = conv2d_grad_parameters(g, x, weight_shape=weight.shape, **attributes)
    np.testing.assert_array_equal(both[0], dweight)
    assert both[1].dtype == dtype
    np.testing.assert_allclose(both[1], g.sum((0, 2, 3)), rtol=tolerance, atol=1e2 * tolerance)
    for array, old in zip((x, weight, bias), before):
        np.testing.assert_array_equal(array, old)
    return y, dx, dweight


@each_case
def test_against_loops(case):
    check(case)


@pytest.mark.parametrize("case", LARGE.values(), ids=LARGE)
def test_large_enough_for_threads(case):
    check(case)


@pytest.fixture
def always_large(monkeypatch):
    """Small convolutions take the ways of large ones too."""
    monkeypatch.setattr(tuning, "CONVOLUTION_LEAST_PRODUCTS", 0)


@pytest.mark.parametrize("case", [*CASES.values(), *SAME.values(), *STRIDED.values(), *FEW.values()],
                         ids=[*CASES, *SAME, *STRIDED, *FEW])
def test_ways_of_large_ones_against_loops(case, always_large):
    check(case)


@pytest.mark.parametrize("case", [*SAME.values(), *STRIDED.values(), *FEW.values()], ids=[*SAME, *STRIDED, *FEW])
def test_parts_do_not_show(case, monkeypatch, forget_choices):
    """Bands of one row, chunks of one sample, a single partial sum and other ways to cut the work give the same results."""
    whole = check(case, np.float32, 1e-4)
    monkeypatch.setattr(tuning, "CONVOLUTION_LEAST_PRODUCTS", 0)
    forget_choices()
    modules = {direct_forward: "plan_of", few_outputs: "_plan_of", direct_grad_weight: "_plan", grad_input_strided: "_plan"}
    for module, plan in modules.items():
        monkeypatch.setattr(module, plan, getattr(module, plan).__wrapped__)  # nothing that other limits led to
    for limits in ({}, {"_COPIES_BYTES": 1, "_PASS_BYTES": 1}, {"_TASKS": 100, "_PARTS_BYTES": 1}, {"_POSITIONS": 1},
                   {"_STEPS": 1, "_WEIGHT_BYTES": 1, "_SUMS_BYTES": 1}, {"_COPIES": 1}, {"_SMALL_PLANE": 0}, {"_COPY": 0},
                   {"_TASK_PRODUCTS": 1}, {"_TASK_PRODUCTS": 1 << 30}):
        for name, value in limits.items():
            for module in modules:
                monkeypatch.setattr(module, name, value, raising=False)
        for got, wanted in zip(check(case, np.float32, 1e-4), whole):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", [
    *[(shape, (33, 5, 3, 3), (1, 1), (1, 1), (1, 1), 1) for shape in [(17, 5, 8, 8), (1, 5, 8, 30), (3, 5, 20, 20)]],
    *FEW.values(),
])
def test_results_do_not_depend_on_threads(case, always_large, monkeypatch):
    whole = check(case, np.float32, 1e-4)
    for threads in (1, 2, 3, 16):
        monkeypatch.setattr(THREADS, "value", threads)
        for got, wanted in zip(check(case, np.float32, 1e-4), whole):
            np.testing.assert_array_equal(got, wanted)


def test_tasks_add_to_no_result_of_another_one(monkeypatch):
    """The second block of 9 results has 7 rows of the first one; sums of 102 products are added up in two parts."""
    rng = np.random.default_rng(0)
    g, weight = rng.normal(size=(1, 17, 16, 9)), rng.normal(size=(17, 9, 2, 3))
    geometry = {"input_shape": (1, 9, 12, 9), "stride": (1, 1), "padding": (6, 1), "dilation": (8, 1), "groups": 1}
    monkeypatch.setattr(THREADS, "value", 2)
    results = [conv2d_grad_input(g, weight, **geometry) for _ in range(500)]
    monkeypatch.setattr(STARTED_THREADS, "value", 1)
    expected = conv2d_grad_input(g, weight, **geometry)
    assert all(np.array_equal(result, expected) for result in results)


@pytest.mark.parametrize("case", [*SAME.values(), *STRIDED.values()], ids=[*SAME, *STRIDED])
def test_a_packed_weight_gives_what_it_gives_where_it_lies(case, always_large, monkeypatch):
    """Which way is taken depends on the number of positions."""
    results = []
    for positions in (0, 1 << 30):
        monkeypatch.setattr(direct_packed_weight, "MOST_POSITIONS", positions)
        results.append(check(case, np.float32, 1e-4))
    for packed, lying in zip(*results):
        np.testing.assert_allclose(packed, lying, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("threads", [1, 2, 3, 16])
@pytest.mark.parametrize("tasks", [1, 2, 5, 64])
def test_outputs_are_cut_into_no_more_parts_than_threads_need(tasks, threads):
    parts = direct_forward._parts(tasks, 512, threads)
    assert parts == 1 or tasks * (parts - 1) % threads
    assert tasks * parts % threads == 0 or parts == min(-(-512 // direct_forward.ROWS), -(-direct_forward._TASKS * threads // (4 * tasks)))


@pytest.mark.parametrize("name", ["plain", "grouped", "depthwise multiplied", "pointwise"])
def test_strides_and_out(name):
    x, weight, bias, attributes = data(CASES[name])
    y = conv2d(x, weight, bias, **attributes)
    fortran = [np.asfortranarray(a) for a in (x, weight, y)]
    calls = [
        (conv2d, (x, weight, bias), (fortran[0], fortran[1], np.repeat(bias, 2)[::2]), {}),
        (conv2d_grad_input, (y, weight), (fortran[2], fortran[1]), {"input_shape": x.shape}),
        (conv2d_grad_weight, (y, x), (fortran[2], fortran[0]), {"weight_shape": weight.shape}),
    ]
    for kernel, plain, strided, shapes in calls:
        wanted = kernel(*plain, **attributes, **shapes)
        for out in (np.full(wanted.shape, np.nan), np.full((*wanted.shape, 2), np.nan)[..., 0]):
            assert kernel(*strided, **attributes, **shapes, out=out) is out
            np.testing.assert_array_equal(out, wanted)
    wanted = conv2d_grad_parameters(y, x, weight_shape=weight.shape, **attributes)
    out = tuple(np.full((*array.shape, 2), np.nan)[..., 0] for array in wanted)
    given = conv2d_grad_parameters(fortran[2], fortran[0], weight_shape=weight.shape, **attributes, out=out)
    for got, want, place in zip(given, wanted, out):
        assert got is place
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("x_shape", "weight_shape", "g_shape"), [
    ((0, 3, 4, 4), (5, 3, 3, 3), (0, 5, 2, 2)), ((2, 0, 4, 4), (5, 0, 3, 3), (2, 5, 2, 2)),
    ((2, 3, 2, 4), (5, 3, 3, 3), (2, 5, 0, 2)),
])
def test_empty(x_shape, weight_shape, g_shape, dtype):
    """Nothing to add up makes zeros; a bias has a gradient without input channels too."""
    attributes = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
    g = np.ones(g_shape, dtype)
    dweight, dbias = conv2d_grad_parameters(g, np.ones(x_shape, dtype), weight_shape=weight_shape, **attributes)
    np.testing.assert_array_equal(dweight, np.zeros(weight_shape))
    np.testing.assert_array_equal(dbias, g.sum((0, 2, 3)))
    assert dweight.dtype == dbias.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves(dtype):
    x, weight, bias, attributes = data(CASES["plain"], dtype)
    y = conv2d(x, weight, bias, **attributes)
    wide = conv2d(*(a.astype(np.float32) for a in (x, weight, bias)), **attributes)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y, wide.astype(dtype))
    assert conv2d_grad_input(y, weight, input_shape=x.shape, **attributes).dtype == dtype
    assert conv2d_grad_weight(y, x, weight_shape=weight.shape, **attributes).dtype == dtype
    dweight, dbias = conv2d_grad_parameters(y, x, weight_shape=weight.shape, **attributes)
    assert dweight.dtype == dbias.dtype == dtype
    np.testing.assert_allclose(dbias.astype(np.float32), y.astype(np.float64).sum((0, 2, 3)), rtol=1e-2)


@pytest.mark.torch
@pytest.mark.parametrize("case", [*CASES.values(), *LARGE.values()], ids=[*CASES, *LARGE])
def test_like_torch(case):
    torch = pytest.importorskip("torch")
    x, weight, bias, attributes = data(case, np.float32)
    t_x, t_weight = (torch.tensor(a, requires_grad=True) for a in (x, weight))
    t_y = torch.nn.functional.conv2d(t_x, t_weight, torch.tensor(bias), **attributes)
    y = conv2d(x, weight, bias, **attributes)
    np.testing.assert_allclose(y, t_y.detach(), rtol=1e-4, atol=1e-4)
    g = np.random.default_rng(1).normal(size=y.shape).astype(np.float32)
    t_dx, t_dweight = torch.autograd.grad(t_y, (t_x, t_weight), torch.tensor(g))
    dx = conv2d_grad_input(g, weight, input_shape=x.shape, **attributes)
    np.testing.assert_allclose(dx, t_dx, rtol=1e-4, atol=1e-4)
    dweight = conv2d_grad_weight(g, x, weight_shape=weight.shape, **attributes)
    np.testing.assert_allclose(dweight, t_dweight, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("shapes", [
    ((8, 16, 9, 9), (32, 16, 3, 3)), ((64, 1, 28, 28), (32, 1, 3, 3)), ((16, 4, 16, 16), (8, 1, 3, 3)),
    ((2, 8, 7, 7), (4, 4, 3, 3)),
], ids=["winograd", "direct", "depthwise", "grouped"])
def test_errors_of_the_bias_gradient_are_at_most_twice_those_of_torch(shapes):
    """Sums of gradients around 1, where errors add up, and an infinite one and NaN go into the sum of their channel only."""
    torch = pytest.importorskip("torch")
    x_shape, weight_shape = shapes
    rng = np.random.default_rng(0)
    g = (1 + rng.standard_normal((x_shape[0], weight_shape[0], *x_shape[2:]))).astype(np.float32)
    attributes = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": x_shape[1] // weight_shape[1]}
    x = rng.standard_normal(x_shape).astype(np.float32)
    _, dbias = conv2d_grad_parameters(g, x, weight_shape=weight_shape, **attributes)
    exact = g.sum((0, 2, 3), dtype=np.float64)
    assert np.abs(dbias - exact).max() <= 2 * np.abs(torch.tensor(g).sum((0, 2, 3)).numpy() - exact).max()
    g[0, 1, 2, 3], g[1, 2, 0, 0] = np.inf, np.nan
    dbias = conv2d_grad_parameters(g, x, weight_shape=weight_shape, **attributes)[1]
    assert dbias[1] == np.inf and np.isnan(dbias[2]) and np.isfinite(np.delete(dbias, (1, 2))).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_inf_like_torch(bad):
    torch = pytest.importorskip("torch")
    x, weight, bias, attributes = data(CASES["plain"], np.float32)
    x[0, 1, 2, 3] = bad
    wanted = torch.nn.functional.conv2d(*map(torch.tensor, (x, weight, bias)), **attributes)
    np.testing.assert_allclose(conv2d(x, weight, bias, **attributes), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_direct_keeps_nan_and_inf_in_place(bad, always_large):
    """Neither the neighbouring image rows nor the other samples and channels see a bad pixel or a bad gradient."""
    x, weight, _, attributes = data(SAME["same ((2, 3, 7, 5), (7, 3, 3, 3))"], np.float32)
    x[0, 1, 6, 4] = bad
    y = conv2d(x, weight, None, **attributes)
    reached = np.zeros(y.shape, bool)
    reached[0, :, 5:, 3:] = True
    np.testing.assert_array_equal(np.isfinite(y), ~reached)
    g = np.zeros_like(y) + 1
    dweight = conv2d_grad_weight(g, x, weight_shape=weight.shape, **attributes)
    assert np.isfinite(dweight[:, [0, 2]]).all()
    # The last pixel never meets the last row and column of a kernel shifted up and left of it.
    np.testing.assert_array_equal(np.isfinite(dweight[0, 1]), [[True] * 3, [True, False, False], [True, False, False]])


def test_depthwise_weight_gradient_keeps_inf_to_its_taps():
    """An inf in the first column of the input never meets the last tap of a row, whose gradient stays finite."""
    x, g = np.ones((1, 2, 4, 5)), np.ones((1, 2, 4, 3))
    x[0, 1, 2, 0] = np.inf
    attributes = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 2}
    dweight = conv2d_grad_weight(g, x, weight_shape=(2, 1, 1, 3), **attributes)
    np.testing.assert_array_equal(dweight.reshape(2, 3), [[12, 12, 12], [np.inf, 12, 12]])


@pytest.mark.parametrize("height", [1, 5, 28, 112])
@pytest.mark.parametrize("width", [1, 14, 28, 33, 112])
def test_bands_make_few_blocks_of_positions(height, width):
    block = 32

    def blocks(band):
        bands, rest = divmod(height, band)
        return bands * -(-band * width // block) + -(-rest * width // block)

    for band in range(1, height + 1):
        chosen = direct_forward.whole_blocks(band, height, width, block)
        assert 3 * band <= 4 * chosen <= 5 * band
        assert chosen <= height
        assert blocks(chosen) <= blocks(band)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "stride"), [((1, 64, 16, 17), 1), ((3, 64, 16, 16), 1), ((2, 64, 31, 34), 2), ((3, 256, 4, 5), 1)],
                         ids=["one image", "images one by one", "strided", "images side by side"])
def test_gradients_of_single_taps_are_products_of_matrices(shape, stride, dtype):
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal(shape).astype(dtype), rng.standard_normal((shape[1], shape[1], 1, 1)).astype(dtype)
    met = x[:, :, ::stride, ::stride].astype(np.float64)
    g = rng.standard_normal(met.shape).astype(dtype)
    attributes = {"stride": (stride, stride), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
    dweight, dbias = conv2d_grad_parameters(g, x, weight_shape=weight.shape, **attributes)
    dx = conv2d_grad_input(g, weight, input_shape=shape, **attributes)
    wide, wanted = g.astype(np.float64), np.zeros(shape)
    wanted[:, :, ::stride, ::stride] = np.einsum("nohw,oc->nchw", wide, weight[:, :, 0, 0].astype(np.float64), optimize=True)
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    for got, want in ((dweight[:, :, 0, 0], np.einsum("nohw,nchw->oc", wide, met, optimize=True)),
                      (dbias, wide.sum((0, 2, 3))), (dx, wanted)):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * np.abs(want).max())


def test_input_gradient_of_many_filters_of_a_channel_has_small_errors():
    """3072 products for a pixel: in one sum the largest error was 5e-4, of PyTorch 6e-5."""
    rng = np.random.default_rng(0)
    g, weight = rng.standard_normal((2, 256, 35, 38), dtype=np.float32), rng.standard_normal((256, 1, 6, 4), dtype=np.float32)
    attributes = {"input_shape": (2, 2, 34, 39), "stride": (1, 1), "padding": (3, 1), "dilation": (1, 1), "groups": 2}
    exact = conv2d_grad_input(g.astype(np.float64), weight.astype(np.float64), **attributes)
    assert np.abs(conv2d_grad_input(g, weight, **attributes) - exact).max() < 2e-4


@pytest.mark.parametrize(("results", "calls"), [(1, 2), (direct_forward.ROWS, 0)])
def test_few_results_have_blocks_of_their_own(results, calls, monkeypatch):
    """Forward, and the input gradient, in groups that have as many channels."""
    seen, convolve_images = [], few_outputs.convolve_images
    monkeypatch.setattr(few_outputs, "convolve_images", lambda *arguments: (seen.append(1), convolve_images(*arguments)))
    x, weight = np.ones((2, 3 * results, 9, 9)), np.ones((3 * results, results, 5, 3))
    attributes = {"stride": (1, 1), "padding": (2, 1), "dilation": (1, 1), "groups": 3 if results > 1 else 1}
    x, weight = (x, weight) if results > 1 else (x[:, :1], weight[:1])
    y = conv2d(x, weight, None, **attributes)
    conv2d_grad_input(y, weight, input_shape=x.shape, **attributes)
    assert len(seen) == calls


@pytest.mark.torch
@pytest.mark.parametrize("case", [((16, 128, 14, 14), (128, 4, 3, 3), 1, 32), ((8, 3, 40, 40), (256, 3, 5, 5), 1, 1),
                                  ((8, 3, 40, 40), (64, 3, 7, 7), 2, 1), ((4, 512, 20, 20), (1, 512, 1, 1), 1, 1)])
def test_errors_of_few_results_are_at_most_twice_those_of_torch(case):
    torch = pytest.importorskip("torch")
    x_shape, weight_shape, stride, groups = case
    rng = np.random.default_rng(0)
    x, weight = (rng.random(shape, np.float32) for shape in (x_shape, weight_shape))
    padding = weight_shape[2] // 2
    attributes = {"stride": (stride,) * 2, "padding": (padding,) * 2, "dilation": (1, 1), "groups": groups}

    def in_torch(dtype):
        inputs = [torch.tensor(array, dtype=dtype, requires_grad=True) for array in (x, weight)]
        y = torch.nn.functional.conv2d(*inputs, **attributes)
        g = torch.tensor(np.random.default_rng(1).random(y.shape, np.float32), dtype=dtype)
        return [y.detach().numpy(), torch.autograd.grad(y, inputs[0], g)[0].numpy(), g.numpy()]

    exact, theirs = in_torch(torch.float64), in_torch(torch.float32)
    ours = conv2d(x, weight, None, **attributes), conv2d_grad_input(theirs[2], weight, input_shape=x_shape, **attributes)
    # Not the largest error, which with 36 products one after the other is 2.08 times that of PyTorch's input gradient with AVX2.
    for mine, other, true in zip(ours, theirs, exact):
        assert np.square(mine - true).mean() ** 0.5 <= 2 * np.square(other - true).mean() ** 0.5


def test_depthwise_weight_gradients_of_large_planes_have_small_errors():
    """With all products of a plane added up one after the other the largest error was 2.2 to 2.7 times PyTorch's."""
    g, x = (np.random.default_rng(seed).random((1, 8, 48, 48), np.float32) for seed in range(2))
    attributes = {"weight_shape": (8, 1, 5, 5), "stride": (1, 1), "padding": (2, 2), "dilation": (1, 1), "groups": 8}
    exact = conv2d_grad_weight(g.astype(np.float64), x.astype(np.float64), **attributes)
    np.testing.assert_allclose(conv2d_grad_weight(g, x, **attributes), exact, rtol=3e-7)
