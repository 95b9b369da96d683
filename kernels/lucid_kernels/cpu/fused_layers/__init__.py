"""Neighbouring layers as one kernel.

`batch_norm_relu`: batch normalisation, a residual and ReLU.
"""
from ..runtime import numba_import as numba_import
