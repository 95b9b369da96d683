"""Sums, extremes, scans and softmax."""
from ..runtime import numba_import as numba_import
