"""Where pickles of earlier versions find what restores the memory of tensors."""
from .storage import Part as Part
from .storage import Shared as Shared
from .storage import _restore as _restore
