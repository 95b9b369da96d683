"""The names of lucid.utils, for checkers of types. Written by `python -m tests.typing.stubs`: do not edit."""
import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, overload

import numpy as np

from lucid.tensor import Tensor
from lucid.utils import benchmark as benchmark
from lucid.utils import checkpoint as checkpoint
from lucid.utils import data as data
from lucid.utils import deterministic as deterministic
from lucid.utils import dlpack as dlpack
from lucid.utils import flop_counter as flop_counter
from lucid.utils import hooks as hooks
from lucid.utils import model_zoo as model_zoo
from lucid.utils import module_tracker as module_tracker
from lucid.utils import tensorboard as tensorboard
from lucid.utils import weak as weak

_pytree: Any

__all__ = [
    "benchmark", "checkpoint", "data", "deterministic", "dlpack", "flop_counter", "hooks", "model_zoo", "module_tracker",
    "tensorboard", "weak"
]
