"""Helpers for training, pruning and for layers in evaluation mode.

`clip_grad`: limits on gradients.
`convert_parameters`, `flat_storage`: parameters as one vector, or in one piece of memory.
`fusion`: batch normalisation folded into the layer before it.
`init`: modules without initial values.
`memory_format`: weights of convolutions in another order in memory.
`parametrize`, `parametrizations`: parameters computed from others, and those for weights.
`spectral_norm`, `weight_norm`: the older forms, by hooks.
`prune`: pruning.
`rnn`: sequences of several lengths in one batch.
`stateless`: calls with other parameters.
`_borrowed`, `pure_call`: tensors in place of buffers, and calls that change nothing.
`_orthogonal`, `_parametrize_checks`: orthogonal weights, and checks of parametrizations.

>>> model = nn.Linear(2, 1)
>>> model(lucid.full((1, 2), 100.0)).sum().backward()
>>> norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
>>> nn.utils.get_total_norm([p.grad for p in model.parameters()]).round(decimals=3)
Tensor(1.0, requires_grad=False)
"""
from . import parametrizations, parametrize, prune, rnn, stateless
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .flat_storage import FlatParameter, flatten_parameters
from .fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
from .init import skip_init
from .memory_format import convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

__all__ = [
           "FlatParameter",
           "clip_grad_norm",
           "clip_grad_norm_",
           "clip_grad_value_",
           "clip_grads_with_norm_",
           "convert_conv2d_weight_memory_format",
           "convert_conv3d_weight_memory_format",
           "flatten_parameters",
           "fuse_conv_bn_eval",
           "fuse_conv_bn_weights",
           "fuse_linear_bn_eval",
           "fuse_linear_bn_weights",
           "get_total_norm",
           "parameters_to_vector",
           "parametrizations",
           "parametrize",
           "prune",
           "remove_spectral_norm",
           "remove_weight_norm",
           "rnn",
           "skip_init",
           "spectral_norm",
           "stateless",
           "vector_to_parameters",
           "weight_norm",
]
