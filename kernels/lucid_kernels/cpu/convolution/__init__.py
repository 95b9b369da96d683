"""Convolutions of one to three dimensions and their gradients; `conv2d` and `conv3d` choose the algorithm."""
from ..runtime import numba_import as numba_import
