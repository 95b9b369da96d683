"""Images resized, or read at any coordinates."""
from ..runtime import numba_import as numba_import
