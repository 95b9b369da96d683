"""Where pickles of earlier versions find what restores the memory of tensors."""
from .pickling import Shared as Shared
from .pickling import _restore as _restore
from .storage import Part as Part
