"""Reading and writing by index, mask or order."""
from ..runtime import numba_import as numba_import
