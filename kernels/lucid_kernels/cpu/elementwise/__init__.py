"""Operations element by element: loops by hand, formulas, casts."""
from ..runtime import numba_import as numba_import
