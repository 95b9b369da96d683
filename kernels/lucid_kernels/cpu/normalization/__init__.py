"""Batch, layer, group and RMS normalisation."""
from ..runtime import numba_import as numba_import
