"""Medians, quantiles, modes, covariances and counts against PyTorch."""
from __future__ import annotations

import numpy as np
import pytest

from tests.ops.table.agreement import agree

RNG = np.random.default_rng(0)
PLAIN = RNG.normal(size=(4, 5))
HOLES = PLAIN.copy()
HOLES[1, 2] = HOLES[2, :2] = np.nan
INPUTS = {"plain": PLAIN, "nan": HOLES, "float32": PLAIN.astype(np.float32), "integers": np.arange(20).reshape(4, 5)[::-1].copy() % 7,
          "bool": PLAIN > 0, "0-d": np.array(1.5), "empty": np.zeros((0, 3)), "row": PLAIN[:1]}


@pytest.mark.torch
@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("name", ["median", "nanmedian", "aminmax", "nansum", "nanmean", "cov", "corrcoef", "unique",
                                  "unique_consecutive", "msort", "argwhere"])
def test_whole_tensor(name, kind, device):
    agree(lambda lib, x: getattr(lib, name)(x), INPUTS[kind], device=device, grad=not name.startswith("unique"), rtol=1e-5)


@pytest.mark.torch
@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("dim", [0, -1])
def test_along_a_dimension(dim, kind, device):
    x = INPUTS[kind]
    # Which of several equal elements the index names is open; PyTorch's mode of elements with NaN among them is no mode.
    for name in ("median", "nanmedian") if kind == "nan" else ("median", "nanmedian", "mode"):
        agree(lambda lib, x: getattr(lib, name)(x, dim)[0], x, device=device, grad=kind != "integers")  # noqa: B023
        agree(lambda lib, x: getattr(x, name)(dim, keepdim=True)[0], x, device=device)  # noqa: B023
    agree(lambda lib, x: lib.kthvalue(x, 1, dim, True)[0], x, device=device)
    agree(lambda lib, x: lib.aminmax(x, dim=dim), x, device=device)
    agree(lambda lib, x: (lib.nansum(x, dim, True), lib.nanmean(x, dim)), x, device=device, rtol=1e-5)


@pytest.mark.torch
@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "nearest", "midpoint", "none"])
@pytest.mark.parametrize("name", ["quantile", "nanquantile"])
def test_quantiles(name, interpolation, device):
    for x in INPUTS.values():
        for q in (0.0, 0.3, 1.0, 1.5):
            agree(lambda lib, x: getattr(lib, name)(x, q, -1, interpolation=interpolation), x, device=device, rtol=1e-5)  # noqa: B023
    agree(lambda lib, x, q: getattr(lib, name)(x, q, keepdim=True), PLAIN, np.array([0.1, 0.65]), device=device)
    agree(lambda lib, x, q: getattr(lib, name)(x, q, 0), HOLES, np.array([0.1, 0.65]), device=device)
    agree(lambda lib, x, q: getattr(lib, name)(x, q), PLAIN, np.array([0.1], np.float32), device=device)


def test_equal_elements_share_the_gradient_of_the_median(device):
    agree(lambda lib, x: lib.median(x), np.array([1.0, 2.0, 2.0, 2.0, 3.0]), device=device)
    agree(lambda lib, x: lib.median(x), np.array([1.0, np.nan, np.nan]), device=device)
    agree(lambda lib, x: lib.mode(x, 1), np.round(PLAIN), device=device)


def test_weighted_covariances(device):
    f, a = np.array([1, 2, 1, 3, 1]), np.array([0.1, 0.5, 0.2, 0.9, 1.0])
    agree(lambda lib, x, f, a: lib.cov(x, fweights=f, aweights=a), PLAIN, f, a, device=device)
    agree(lambda lib, x, f: lib.cov(x, correction=0, fweights=f), PLAIN, f, device=device)
    agree(lambda lib, x, a: lib.cov(x, aweights=a), PLAIN, a, device=device)
    agree(lambda lib, x, f: lib.cov(x, fweights=-f), PLAIN, f, device=device)
    agree(lambda lib, x, a: lib.cov(x, fweights=a), PLAIN, a, device=device)
    agree(lambda lib, x: lib.cov(x), PLAIN.reshape(2, 2, 5), device=device)
    agree(lambda lib, x: (lib.cov(x), lib.corrcoef(x)), PLAIN + 1j * PLAIN[::-1] ** 2, device=device, grad=False)


@pytest.mark.parametrize("kind", ["plain", "nan", "float32", "integers", "0-d", "empty"])
def test_histograms(kind, device):
    x = INPUTS[kind]
    agree(lambda lib, x: lib.histc(x, 5), x, device=device, grad=False)
    agree(lambda lib, x: lib.histc(x, 5, -1, 1), x, device=device, grad=False)
    agree(lambda lib, x: lib.histogram(x, 5, range=(-1.0, 1.0)), x, device=device, grad=False, rtol=1e-5)
    if x.size:
        agree(lambda lib, x: lib.histogram(x, 4, density=True, weight=x.abs()), x, device=device, grad=False, rtol=1e-5)
        agree(lambda lib, x: lib.histogram(x, lib.msort(x.reshape(-1)[:4])), PLAIN, device=device, grad=False)


def test_histogram_refuses(device):
    agree(lambda lib, x: lib.histc(x, 0), PLAIN, device=device, grad=False)
    agree(lambda lib, x: lib.histc(x, 3, 2, 1), PLAIN, device=device, grad=False)
    agree(lambda lib, x: lib.histogram(x, 3, weight=x[0]), PLAIN, device=device, grad=False)


def test_bincount(device):
    x, w = np.array([1, 2, 5, 1]), np.array([1.0, 2.0, 3.0, 4.0])
    agree(lambda lib, x: lib.bincount(x), x, device=device)
    for weights in (w, w.astype(np.float32), w.astype(np.int64)):
        agree(lambda lib, x, w: lib.bincount(x, w, minlength=9), x, weights, device=device, grad=False)
    agree(lambda lib, x: lib.bincount(x), np.array([], np.int64), device=device)
    agree(lambda lib, x: lib.bincount(x), -x, device=device)
    agree(lambda lib, x: lib.bincount(x), w, device=device, grad=False)


@pytest.mark.torch
@pytest.mark.parametrize("dim", [None, 0, 1])
@pytest.mark.parametrize("kind", ["integers", "bool", "row"])
def test_unique(kind, dim, device):
    x = np.concatenate([INPUTS[kind]] * 2)[:, [0, 0, 1, 2]]
    for name in ("unique", "unique_consecutive"):
        agree(lambda lib, x: getattr(lib, name)(x, return_inverse=True, return_counts=True, dim=dim), x, device=device,  # noqa: B023
              grad=False)
        agree(lambda lib, x: getattr(x, name)(return_counts=True, dim=dim), x, device=device, grad=False)  # noqa: B023


def test_unique_elements_that_are_nan_differ(device):
    x = np.array([1.0, np.nan, 1.0, np.nan, 2.0])
    agree(lambda lib, x: lib.unique(x, return_counts=True), x, device=device, grad=False)
    agree(lambda lib, x: lib.unique_consecutive(x, return_inverse=True), x, device=device, grad=False)
