"""`torch.return_types`: the classes of several results. Those of the same fields are one here."""
from __future__ import annotations

from lucid.ops.elementwise.float_parts import Frexp as frexp
from lucid.ops.linalg.det import SlogDet as slogdet
from lucid.ops.linalg.eig import Eig as linalg_eigh
from lucid.ops.linalg.qr_svd import QR as qr
from lucid.ops.linalg.qr_svd import SVD as linalg_svd
from lucid.ops.linalg.qr_svd import OldSVD as svd
from lucid.ops.linalg.triangular import TriangularSolution as triangular_solve
from lucid.ops.reduction.max_min import MinMax as aminmax
from lucid.ops.reduction.selection import ValuesIndices
from lucid.ops.sorting.histogram import Histogram as histogram

__all__ = ["aminmax", "cummax", "cummin", "frexp", "histogram", "kthvalue", "linalg_eig", "linalg_eigh", "linalg_qr",
           "linalg_slogdet", "linalg_svd", "max", "median", "min", "mode", "nanmedian", "qr", "slogdet", "sort", "svd", "topk",
           "triangular_solve"]

cummax = cummin = kthvalue = max = median = min = mode = nanmedian = sort = topk = ValuesIndices
linalg_eig, linalg_qr, linalg_slogdet = linalg_eigh, qr, slogdet
