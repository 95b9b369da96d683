"""What is imported when it is first asked for, so that ``import lucid`` stays short: a namespace, a name in it, where it is."""
from __future__ import annotations

import importlib
from typing import Any

_MODULES = """
amp array_api compiler distributed distributions extension hub kernels models multiprocessing onnx overrides profiler
sparse testing types utils"""
_AUTOCAST = """
clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype is_autocast_cache_enabled
is_autocast_cpu_enabled is_autocast_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled
set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype"""
_SPARSE = "sparse_coo_tensor sparse_compressed_tensor sparse_csr_tensor sparse_csc_tensor"
_FOREACH = """
abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min cos cosh div erf erfc exp expm1 floor frac lerp lgamma log log10
log1p log2 maximum minimum mul neg pow reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan tanh trunc"""
_FOREACH_NAMES = [f"_foreach_{name}{end}" for name in _FOREACH.split() for end in ("", "_")] + [
    f"_foreach_{name}" for name in "clone copy_ max mm norm powsum zero_".split()]
_TRANSFORMS = {"batches": "vmap", "reverse": "grad grad_and_value vjp jacrev", "forward": "jvp jacfwd hessian linearize",
               "batch_norm": "replace_all_batch_norm_modules_", "functional": "functionalize"}
#: The names of lucid 2.x that PyTorch does not have.
_EXTRAS = {
    "activation": "HardSigmoid HardSwish Swish",
    "attention": "MultiHeadAttention ScaledDotProductAttention",
    "blocks": "ConvBNReLU1d ConvBNReLU2d ConvBNReLU3d DepthSeparableConv1d DepthSeparableConv2d DepthSeparableConv3d SEModule "
              "SelectiveKernel",
    "cache": "Cache DynamicKVCache EncoderDecoderCache KVCache StaticKVCache",
    "helpers": "auto_repr set_state_dict_pass_attr",
    "positions": "LearnedPosEmbedding RotaryPosEmbedding SinusoidalPosEmbedding",
    "regularization": "DropBlock DropPath GlobalResponseNorm",
}
_EXTRA_FUNCTIONS = "drop_block drop_path global_response_norm rotary_pos_embedding rotate sinusoidal_pos_embedding"
_EXTRA_UTILITIES = "apply_chunking_to_forward clip_grad_value get_activation_from_name grad_norm"
#: "module:name", or a module.
LAZY: dict[str, dict[str, str]] = {
    "lucid": {
        **{name: f"lucid.{name}" for name in _MODULES.split()},
        **{name: f"lucid.amp.autocast_mode:{name}" for name in _AUTOCAST.split()},
        **{name: f"lucid.ops.foreach:{name}" for name in _FOREACH_NAMES},
        "unsafe_chunk": "lucid.ops.manipulation.splitting:chunk", "unsafe_split": "lucid.ops.manipulation.splitting:unsafe_split",
        "unsafe_split_with_sizes": "lucid.ops.manipulation.splitting:split_with_sizes",
        "autocast": "lucid.amp:autocast", "GradScaler": "lucid.amp:GradScaler",
        **{name: f"lucid.ops.sparse.creation:{name}" for name in _SPARSE.split()},
        "__array_namespace_info__": "lucid.array_api._info:__array_namespace_info__",
        "compile": "lucid.compiler.compiled:compile", "vmap": "lucid.func.batches:vmap",
    },
    "lucid.func": {name: f"lucid.func.{module}:{name}" for module, names in _TRANSFORMS.items() for name in names.split()},
    "lucid.utils": {name: f"lucid.utils.{name}" for name in (
        "_pytree benchmark checkpoint data dlpack hooks model_zoo tensorboard".split())},
    "lucid.nn": {
        **{name: f"lucid.nn.{name}" for name in ("attention", "common_types")},
        **{name: f"lucid.nn.extras.{module}:{name}" for module, names in _EXTRAS.items() for name in names.split()},
        "Container": "lucid.nn.modules.container:Container", "NLLLoss2d": "lucid.nn.modules.loss:NLLLoss2d",
        "Rearrange": "lucid.einops.layers:Rearrange", "factory_kwargs": "lucid.nn.modules.utils:factory_kwargs",
    },
    "lucid.nn.functional": {name: f"lucid.nn.extras.functional:{name}" for name in _EXTRA_FUNCTIONS.split()},
    "lucid.nn.utils": {name: f"lucid.nn.extras.helpers:{name}" for name in _EXTRA_UTILITIES.split()},
}


def load(where: str) -> Any:
    """The module or the object in it that an entry of `LAZY` names."""
    module, _, name = where.partition(":")
    found = importlib.import_module(module)
    return getattr(found, name) if name else found
