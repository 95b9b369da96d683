"""Elements moved from one place to another."""
from ..runtime import numba_import as numba_import
