"""What `__torch_function__` gets of a call of one of PyTorch's functions in Python: arguments without a default by place, and all
others by their names, with their defaults. Other functions hand on what they got.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

_FUNCTIONAL = frozenset("""
adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d affine_grid alpha_dropout batch_norm binary_cross_entropy
binary_cross_entropy_with_logits celu cosine_embedding_loss cross_entropy ctc_loss dropout dropout1d dropout2d dropout3d elu
embedding embedding_bag feature_alpha_dropout fold fractional_max_pool2d fractional_max_pool3d gaussian_nll_loss glu grid_sample
group_norm gumbel_softmax hardsigmoid hardswish hardtanh hinge_embedding_loss huber_loss instance_norm interpolate kl_div l1_loss
layer_norm leaky_relu local_response_norm log_softmax lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss max_pool1d max_pool2d
max_pool3d max_unpool1d max_unpool2d max_unpool3d mish mse_loss multi_margin_loss multilabel_margin_loss
multilabel_soft_margin_loss nll_loss normalize pad poisson_nll_loss relu relu6 rms_norm rrelu selu silu smooth_l1_loss
soft_margin_loss softmax softmin threshold triplet_margin_loss triplet_margin_with_distance_loss unfold""".split())
_ROOT = frozenset("cdist pca_lowrank stft svd_lowrank unique unique_consecutive".split())
#: Those with other parameters here, or with `out` beside their own.
_OTHERWISE: dict[str, Callable[..., None]] = {
    "lu": lambda A, pivot=True, get_infos=False, out=None: None,
    "norm": lambda input, p="fro", dim=None, keepdim=False, out=None, dtype=None: None,
    "split": lambda tensor, split_size_or_sections, dim=0: None,
    "tensordot": lambda a, b, dims=2, out=None: None,
}


@functools.cache
def parameters() -> dict[Any, list[inspect.Parameter]]:
    """The functions in Python, with their parameters, which can be read while nothing looks at calls."""
    import lucid

    functions = {getattr(lucid, name): signature for name, signature in _OTHERWISE.items()}
    functions |= {function: function for function in (
        *[getattr(lucid, name) for name in _ROOT], *[getattr(lucid.nn.functional, name) for name in _FUNCTIONAL])}
    return {function: [parameter for name, parameter in inspect.signature(signature).parameters.items() if name != "generator"]
            for function, signature in functions.items()}  # the generators are lucid's own


def handed_on(public: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
              ) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call of `public` as its overrides get them."""
    import lucid

    if public is lucid.einsum:
        return _operands(args), kwargs
    own = parameters().get(public)
    if own is None or len(args) > len(own):
        return args, kwargs
    given = {**dict(zip([parameter.name for parameter in own], args, strict=False)), **kwargs}
    places = [parameter.name for parameter in own if parameter.default is parameter.empty]
    if len(given) < len(args) + len(kwargs) or not given.keys() >= set(places):
        return args, kwargs  # the function says what is wrong
    names = {parameter.name: given.pop(parameter.name, parameter.default) for parameter in own}
    return tuple([names.pop(name) for name in places]), {**names, **given}


def _operands(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The equation and the operands of `einsum` one by one."""
    if len(args) == 2 and isinstance(args[0], str) and isinstance(args[1], list | tuple):
        return args[0], *args[1]
    return args
