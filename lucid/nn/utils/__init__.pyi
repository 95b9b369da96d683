"""The names of lucid.nn.utils, for checkers of types. Written by `python -m tests.typing.stubs`: do not edit."""
import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, overload

import numpy as np

from lucid.nn.utils.clip_grad import Tensors
from lucid.nn.extras.helpers import apply_chunking_to_forward as apply_chunking_to_forward
from lucid.nn.extras.helpers import clip_grad_value as clip_grad_value
from lucid.nn.extras.helpers import get_activation_from_name as get_activation_from_name
from lucid.nn.extras.helpers import grad_norm as grad_norm
from lucid.nn.utils import parametrizations as parametrizations
from lucid.nn.utils import parametrize as parametrize
from lucid.nn.utils import prune as prune
from lucid.nn.utils import rnn as rnn
from lucid.nn.utils import stateless as stateless
from lucid.nn.utils.clip_grad import clip_grad_norm as clip_grad_norm
from lucid.nn.utils.clip_grad import clip_grad_norm_ as clip_grad_norm_
from lucid.nn.utils.convert_parameters import parameters_to_vector as parameters_to_vector
from lucid.nn.utils.convert_parameters import vector_to_parameters as vector_to_parameters
from lucid.nn.utils.flat_storage import FlatParameter as FlatParameter
from lucid.nn.utils.flat_storage import flatten_parameters as flatten_parameters
from lucid.nn.utils.fusion import fuse_conv_bn_eval as fuse_conv_bn_eval
from lucid.nn.utils.fusion import fuse_conv_bn_weights as fuse_conv_bn_weights
from lucid.nn.utils.fusion import fuse_linear_bn_eval as fuse_linear_bn_eval
from lucid.nn.utils.fusion import fuse_linear_bn_weights as fuse_linear_bn_weights
from lucid.nn.utils.init import skip_init as skip_init
from lucid.nn.utils.memory_format import convert_conv2d_weight_memory_format as convert_conv2d_weight_memory_format
from lucid.nn.utils.memory_format import convert_conv3d_weight_memory_format as convert_conv3d_weight_memory_format
from lucid.nn.utils.spectral_norm import remove_spectral_norm as remove_spectral_norm
from lucid.nn.utils.spectral_norm import spectral_norm as spectral_norm
from lucid.nn.utils.weight_norm import remove_weight_norm as remove_weight_norm
from lucid.nn.utils.weight_norm import weight_norm as weight_norm
from lucid.tensor import Tensor

def clip_grad_value_(parameters: Tensors, clip_value: builtins.float, foreach: builtins.bool | None = None) -> None: ...
def clip_grads_with_norm_(parameters: Tensors, max_norm: builtins.float, total_norm: Tensor,
                          foreach: builtins.bool | None = None) -> None: ...
def get_total_norm(tensors: Tensors, norm_type: builtins.float = 2.0, error_if_nonfinite: builtins.bool = False,
                   foreach: builtins.bool | None = None) -> Tensor: ...

__all__ = [
    "FlatParameter", "apply_chunking_to_forward", "clip_grad_norm", "clip_grad_norm_", "clip_grad_value", "clip_grad_value_",
    "clip_grads_with_norm_", "convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format", "flatten_parameters",
    "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "get_activation_from_name",
    "get_total_norm", "grad_norm", "parameters_to_vector", "parametrizations", "parametrize", "prune", "remove_spectral_norm",
    "remove_weight_norm", "rnn", "skip_init", "spectral_norm", "stateless", "vector_to_parameters", "weight_norm"
]
