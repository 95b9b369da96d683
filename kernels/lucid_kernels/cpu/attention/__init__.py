"""Attention tile by tile, forward and backward, and for a few queries."""
from ..runtime import numba_import as numba_import
