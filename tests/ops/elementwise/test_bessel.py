"""Bessel and Airy functions against numbers of tables, and their Wronskians; ends, dtypes and what is refused."""
from __future__ import annotations

import math

import numpy as np
import pytest

import lucid
from lucid import special

#: Abramowitz & Stegun, tables 9.1, 9.8 and 10.11, to more digits.
KNOWN = {
    "bessel_j0": {0: 1.0, 1: 0.7651976865579666, 5: -0.1775967713143383, 20: 0.16702466434058316},
    "bessel_j1": {0: 0.0, 1: 0.44005058574493355, -5: 0.3275791375914652, 20: 0.06683312417584991},
    "bessel_y0": {1: 0.08825696421567698, 5: -0.30851762524903376, 20: 0.06264059680938384, 0: -math.inf, -1: math.nan},
    "bessel_y1": {1: -0.7812128213002887, 5: 0.14786314339122684, 20: -0.1655116143625213, 0: -math.inf, -1: math.nan},
    "modified_bessel_i0": {0: 1.0, 1: 1.2660658777520084, -5: 27.239871823604442},
    "modified_bessel_i1": {0: 0.0, 1: 0.5651591039924850, -5: -24.335642142450524},
    "modified_bessel_k0": {1: 0.42102443824070834, 5: 0.0036910983340425942, 0: math.inf, -1: math.nan, math.inf: 0.0},
    "modified_bessel_k1": {1: 0.6019072301972346, 5: 0.0040446134454521655, 0: math.inf, -1: math.nan, math.inf: 0.0},
    "scaled_modified_bessel_k0": {1: 1.1444630798068947, 5: 0.547807564313519, 0: math.inf, 1e4: 0.012532984717699286},
    "scaled_modified_bessel_k1": {1: 1.6361534862632582, 5: 0.6002738587883126, 0: math.inf, 1e4: 0.012533611351270506},
    "spherical_bessel_j0": {0: 1.0, 1: 0.8414709848078965, -5: -0.1917848549326277, math.inf: 0.0},
    "airy_ai": {0: 0.3550280538878172, 1: 0.13529241631288142, -2: 0.22740742820168557, 5: 0.0001083444281360744,
                -10: 0.04024123848644319, math.inf: math.nan},
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_values(name):
    function, points = getattr(special, name), [*KNOWN[name], math.nan]
    expected = np.array([*KNOWN[name].values(), math.nan])
    for dtype, tolerance in (("float64", 3e-15), ("float32", 1e-6)):
        found = function(lucid.tensor(points, dtype=dtype))
        assert found.dtype == dtype and not found.requires_grad
        np.testing.assert_allclose(found.cpu().numpy(), expected, rtol=tolerance, atol=tolerance / 10)


def test_wronskians():
    x = lucid.linspace(0.1, 60, 3001, dtype=lucid.float64)
    j0, j1, y0, y1 = (getattr(special, f"bessel_{name}")(x) for name in ("j0", "j1", "y0", "y1"))
    np.testing.assert_allclose(((j1 * y0 - j0 * y1) * x * math.pi / 2).numpy(), 1, rtol=1e-13)
    k0, k1 = special.scaled_modified_bessel_k0(x), special.scaled_modified_bessel_k1(x)
    np.testing.assert_allclose(((special.i0e(x) * k1 + special.i1e(x) * k0) * x).numpy(), 1, rtol=1e-13)


def test_large_arrays_shapes_and_out(device):
    x = lucid.linspace(-20, 20, 20_000, dtype=lucid.float64, device=device).reshape(4, 5000)[:, ::2]
    for name in ("bessel_y1", "modified_bessel_i1", "scaled_modified_bessel_k0", "airy_ai"):
        function = getattr(special, name)
        few = function(x[:1, :5].clone())
        np.testing.assert_allclose(function(x)[:1, :5].cpu().numpy(), few.cpu().numpy(), rtol=1e-13, atol=1e-14)
        assert function(x[:0]).shape == (0, 2500) and function(x[0, 0]).shape == ()
    out = lucid.empty(4, 2500, dtype=lucid.float64, device=device)
    assert special.airy_ai(x, out=out) is out and bool((out == special.airy_ai(x)).all())


def test_dtypes_and_meta():
    assert special.bessel_j0(lucid.tensor([1, 2])).dtype == lucid.float32 and special.airy_ai(lucid.tensor([True])).dtype == lucid.float32
    for dtype in (lucid.float16, lucid.bfloat16, lucid.complex64):
        with pytest.raises(NotImplementedError, match="\"bessel_j0\" not implemented for"):
            special.bessel_j0(lucid.ones(2, dtype=dtype))
    assert special.modified_bessel_k1(lucid.ones(2, 3, device="meta")).shape == (2, 3)
