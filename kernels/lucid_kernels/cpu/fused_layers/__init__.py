"""Layers that one kernel computes."""
from ..runtime import numba_import as numba_import
