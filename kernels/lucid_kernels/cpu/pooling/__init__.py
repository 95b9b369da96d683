"""Pooling and its gradients; `pool2d` chooses the algorithm."""
from ..runtime import numba_import as numba_import
