"""Special functions that neither NumPy nor CuPy has: our kernels on both sides, for arrays of any size."""
from __future__ import annotations

from .row import PRIMITIVE, Row

_FAMILY = "elementwise.special"

ROWS = (
    *[Row(name, family=_FAMILY, formula=PRIMITIVE) for name in ("erf", "erfc")],
    *[Row(name, family=_FAMILY) for name in "erfinv erfcx ndtr ndtri log_ndtr lgamma digamma i0 i0e i1 i1e".split()],
    Row("polygamma", family=_FAMILY, attributes="n"),
    *[Row(name, 2, family=_FAMILY) for name in ("zeta", "gammainc", "gammaincc")],
)
