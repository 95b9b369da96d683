"""Operations by families: the kernel name, the gradient rule and the public function of an op stand in one place, and the
module registers what becomes a method of Tensor (`_methods`).
"""
from . import python_functions  # families without a function in `lucid` itself
from .random import random_fill
