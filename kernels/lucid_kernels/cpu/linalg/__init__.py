"""Decompositions, systems and products of vectors."""
from ..runtime import numba_import as numba_import
