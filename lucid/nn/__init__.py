"""Neural networks. Begin with `modules.module`, the base class of all layers.

`modules`: the layers.
`functional`: the functions of `torch.nn.functional`.
`parameter`: parameters and buffers, also those whose shape is not known yet.
`_constants`: `__constants__` of the layers.
`init`: initial values.
`utils`: helpers for training.
`extras`: layers and functions of lucid 2.x that PyTorch does not have, imported when they are first asked for.
`attention`, `parallel`, `common_types`: switches, wrappers and names of types that PyTorch has.

>>> from lucid import nn
>>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
>>> model(lucid.randn(3, 4)).shape
lucid.Size([3, 2])
>>> sum(p.numel() for p in model.parameters())
58
"""
from .._namespace.absent import listed as _listed
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

__all__ = _listed(__name__)
