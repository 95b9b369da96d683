"""Fourier transforms."""
from ..runtime import numba_import as numba_import
