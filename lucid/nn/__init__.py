"""Neural networks: modules, parameters, buffers, functions, initialisation."""
from . import functional as functional
from . import init as init
from . import utils as utils
from .modules import *  # noqa: F403  (the names in its __all__)
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .uninitialized import UninitializedBuffer as UninitializedBuffer
from .uninitialized import UninitializedParameter as UninitializedParameter
