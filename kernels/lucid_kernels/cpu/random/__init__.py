"""Random numbers: Philox, the same bits as on a GPU."""
from ..runtime import numba_import as numba_import
