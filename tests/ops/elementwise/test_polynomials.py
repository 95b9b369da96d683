"""Orthogonal polynomials against NumPy's, by orders of all kinds."""
from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre

import lucid
from lucid import special

X = np.array([-2.5, -1.0, -0.9, -0.3, 0.0, 0.25, 0.5, 0.8, 1.0, 1.7])


def _second_kind(x, n):
    return chebyshev.chebval(x, chebyshev.chebder([0] * (n + 1) + [1])) / (n + 1)


def _third(x, n):
    return _second_kind(x, n) - (_second_kind(x, n - 1) if n else 0)


def _fourth(x, n):
    return _second_kind(x, n) + (_second_kind(x, n - 1) if n else 0)


EXPECTED = {
    "chebyshev_polynomial_t": lambda x, n: chebyshev.chebval(x, [0] * n + [1]), "chebyshev_polynomial_u": _second_kind,
    "chebyshev_polynomial_v": _third, "chebyshev_polynomial_w": _fourth,
    "hermite_polynomial_h": lambda x, n: hermite.hermval(x, [0] * n + [1]),
    "hermite_polynomial_he": lambda x, n: hermite_e.hermeval(x, [0] * n + [1]),
    "laguerre_polynomial_l": lambda x, n: laguerre.lagval(x, [0] * n + [1]),
    "legendre_polynomial_p": lambda x, n: legendre.legval(x, [0] * n + [1]),
}
EXPECTED |= {f"shifted_{name}": lambda x, n, of=of: of(2 * x - 1, n) for name, of in EXPECTED.items() if "chebyshev" in name}
ORDERS = [0, 1, 2, 3, 6, 7, 9, 12]


@pytest.mark.parametrize("name", EXPECTED)
def test_against_numpy(name, device):
    if device == "gpu" and name not in ("shifted_chebyshev_polynomial_v", "laguerre_polynomial_l"):
        return  # of the same operations
    function = getattr(special, name)
    x, orders = lucid.tensor(X, device=device), lucid.tensor(ORDERS, device=device).unsqueeze(1)
    expected = np.stack([EXPECTED[name](X, n) for n in ORDERS])
    np.testing.assert_allclose(function(x, orders).cpu().numpy(), expected, rtol=1e-9, atol=1e-9)
    for n in (3, 9.7):
        np.testing.assert_allclose(function(x, n).cpu().numpy(), EXPECTED[name](X, int(n)), rtol=1e-9, atol=1e-9)
    found = function(x.float(), 4)
    assert found.dtype == lucid.float32 and found.device == device
    for n in (-1, math.nan, math.inf):
        assert not function(x, n).any()


@pytest.mark.parametrize("name", EXPECTED)
def test_special_arguments(name):
    function = getattr(special, name)
    assert function(lucid.tensor([math.nan, math.inf]), 5).isnan().tolist()[0] and function(lucid.ones(0, 2), 3).shape == (0, 2)
    assert function(lucid.tensor([1, 2]), 3).dtype == lucid.float32 and function(0.5, lucid.tensor([1.0, 2.0])).shape == (2,)
    assert function(lucid.ones(2, 1, device="meta"), 3).shape == (2, 1)
    many = function(lucid.tensor([0.5, 1.5, 40.0], dtype=lucid.float64), 300)
    assert many.shape == (3,)
    with pytest.raises(NotImplementedError, match="not implemented for 'Half'"):
        function(lucid.ones(2, dtype=lucid.float16), 2)
    x = lucid.ones(2, requires_grad=True)
    assert not function(x, 2).requires_grad
    with pytest.raises(TypeError):
        function(0.5, 2)


def test_high_orders_of_hermite_are_nan():
    assert math.isnan(special.hermite_polynomial_h(lucid.ones(1), 129).item())
    assert math.isnan(special.hermite_polynomial_he(lucid.ones(1, dtype=lucid.float64), 513).item())
