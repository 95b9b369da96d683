"""Neural networks.

`modules`: the layers.
`functional`: the functions of `torch.nn.functional`.
`parameter`: parameters and buffers, also those whose shape is not known yet.
`_constants`: `__constants__` of the layers.
`init`: initial values.
`utils`: helpers for training.
`extras`: layers and functions of lucid 2.x that PyTorch does not have, imported when they are first asked for.
`attention`, `parallel`, `common_types`: switches, wrappers and names of types that PyTorch has.
"""
from . import _constants
from . import functional as functional
from . import init as init
from . import parallel as parallel
from . import utils as utils
from .modules import *  # noqa: F403  (the names in its __all__)
from .parallel import DataParallel as DataParallel
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .parameter import UninitializedBuffer as UninitializedBuffer
from .parameter import UninitializedParameter as UninitializedParameter

_constants.install(globals())
