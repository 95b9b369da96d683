"""Losses with their gradients."""
from ..runtime import numba_import as numba_import
