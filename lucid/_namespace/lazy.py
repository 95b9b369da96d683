"""What is imported when it is first asked for, so that ``import lucid`` stays short: a namespace, a name in it, where it is."""
from __future__ import annotations

import importlib
from typing import Any

_MODULES = """
accelerator amp array_api compiler cpu distributed distributions einops extension futures fx hub kernels masked models
multiprocessing onnx overrides profiler signal sparse testing types utils"""
_AUTOCAST = """
clear_autocast_cache get_autocast_cpu_dtype get_autocast_dtype get_autocast_gpu_dtype is_autocast_cache_enabled
is_autocast_cpu_enabled is_autocast_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled
set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype"""
_SPARSE = "sparse_coo_tensor sparse_compressed_tensor sparse_csr_tensor sparse_csc_tensor"
_FOREACH = """
abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min cos cosh div erf erfc exp expm1 floor frac lerp lgamma log log10
log1p log2 maximum minimum mul neg pow reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan tanh trunc"""
#: `lucid._helpers`: a module, names in it.
_HELPERS = {
    "checks": """_assert _assert_async _check _check_index _check_is_size _check_not_implemented _check_tensor_all
        _check_tensor_all_with _check_type _check_value _check_with _is_all_true _is_any_true _shape_as_tensor""",
    "numbers": """SymBool SymFloat SymInt sym_constrain_range sym_constrain_range_for_size sym_float sym_fresh_size sym_int
        sym_ite sym_max sym_min sym_not sym_sqrt sym_sum""",
    "settings": """get_deterministic_debug_mode get_device_module get_num_interop_threads init_num_threads
        is_anomaly_check_nan_enabled is_distributed is_vulkan_available is_warn_always_enabled set_anomaly_enabled
        set_default_tensor_type set_deterministic_debug_mode set_flush_denormal set_num_interop_threads set_warn_always""",
}
#: Functions that few programs call: a module of `lucid.ops`, names in it.
_FUNCTIONS = {
    "linalg.lobpcg": "lobpcg",
    "linalg.older_names": "dsmm frobenius_norm nuclear_norm spmm",
    "sparse.older_names": "hsmm hspmm smm sspaddmm",
    "manipulation.copies": """alias_copy as_strided_copy ccol_indices_copy col_indices_copy crow_indices_copy detach_copy
        diagonal_copy expand_copy indices_copy permute_copy row_indices_copy select_copy slice_copy split_copy
        split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy unfold_copy unsqueeze_copy values_copy
        view_as_complex_copy view_as_real_copy view_copy""",
    "manipulation.layouts": "as_strided_ empty_permuted from_file narrow_copy",
    "nn.native_results": """_log_softmax_backward_data _softmax_backward_data grid_sampler_2d grid_sampler_3d
        max_pool1d_with_indices native_batch_norm native_channel_shuffle native_dropout native_group_norm native_layer_norm""",
}
_FOREACH_NAMES = [f"_foreach_{name}{end}" for name in _FOREACH.split() for end in ("", "_")] + [
    f"_foreach_{name}" for name in "clone copy_ max mm norm powsum zero_".split()]
_PIPES = """
DFIterDataPipe DataChunk IterDataPipe MapDataPipe argument_validation functional_datapipe guaranteed_datapipes_determinism
non_deterministic runtime_validation runtime_validation_disabled"""
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
_WITH_INDICES = """adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d fractional_max_pool3d
max_pool1d max_pool2d max_pool3d"""
_EXTRA_UTILITIES = "apply_chunking_to_forward clip_grad_value get_activation_from_name grad_norm"
#: "module:name", or a module.
LAZY: dict[str, dict[str, str]] = {
    "lucid": {
        **{name: f"lucid.{name}" for name in _MODULES.split()},
        **{name: f"lucid.amp.autocast_mode:{name}" for name in _AUTOCAST.split()},
        **{name: f"lucid.ops.foreach:{name}" for name in _FOREACH_NAMES},
        **{name: f"lucid._helpers.{module}:{name}" for module, names in _HELPERS.items() for name in names.split()},
        **{name: f"lucid.ops.{module}:{name}" for module, names in _FUNCTIONS.items() for name in names.split()},
        "_standard_gamma": "lucid.ops.random.pathwise:standard_gamma", "_sample_dirichlet": "lucid.ops.random.pathwise:dirichlet",
        "Stream": "lucid.gpu.streams:Stream", "Event": "lucid.accelerator.events:Event",
        "is_anomaly_enabled": "lucid.autograd.grad_mode:is_anomaly_enabled",
        "OutOfMemoryError": "lucid.backends.memory:OutOfMemoryError",
        "version": "lucid._helpers.version", "quasirandom": "lucid.ops.random.quasirandom",
        "Future": "lucid.futures:Future",
        "TypedStorage": "lucid.ops.manipulation.storage:TypedStorage", "is_storage": "lucid.ops.manipulation.storage:is_storage",
        "UntypedStorage": "lucid.ops.manipulation.storage:UntypedStorage",
        "unsafe_chunk": "lucid.ops.manipulation.splitting:chunk", "unsafe_split": "lucid.ops.manipulation.splitting:unsafe_split",
        "unsafe_split_with_sizes": "lucid.ops.manipulation.splitting:split_with_sizes",
        "autocast": "lucid.amp:autocast", "GradScaler": "lucid.amp:GradScaler",
        **{name: f"lucid.ops.sparse.creation:{name}" for name in _SPARSE.split()},
        "__array_namespace_info__": "lucid.array_api._info:__array_namespace_info__",
        "compile": "lucid.compiler.compiled:compile", "vmap": "lucid.func.batches:vmap",
    },
    "lucid.autograd": {"profiler": "lucid.autograd.profiler"},
    "lucid.data": {"datapipes": "lucid.data.datapipes",
                   **{name: f"lucid.data.datapipes.pipes:{name}" for name in _PIPES.split()}},
    "lucid.func": {name: f"lucid.func.{module}:{name}" for module, names in _TRANSFORMS.items() for name in names.split()},
    "lucid.utils": {name: f"lucid.utils.{name}" for name in (
        "_pytree benchmark checkpoint data deterministic dlpack flop_counter hooks model_zoo module_tracker tensorboard "
        "weak".split())},
    "lucid.nn": {
        **{name: f"lucid.nn.{name}" for name in ("attention", "common_types")},
        **{name: f"lucid.nn.extras.{module}:{name}" for module, names in _EXTRAS.items() for name in names.split()},
        "Container": "lucid.nn.modules.container:Container", "NLLLoss2d": "lucid.nn.modules.loss:NLLLoss2d",
        "Rearrange": "lucid.einops.layers:Rearrange", "factory_kwargs": "lucid.nn.modules.utils:factory_kwargs",
    },
    **{f"lucid.nn.modules.{module}": {f"Lazy{kind}": f"lucid.nn.modules.lazy_layers:Lazy{kind}" for kind in kinds.split()}
       for module, kinds in {"linear": "Linear", "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d",
                             "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
                             "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d"}.items()},
    "lucid.nn.modules": {"Container": "lucid.nn.modules.container:Container", "NLLLoss2d": "lucid.nn.modules.loss:NLLLoss2d"},
    "lucid.nn.functional": {
        **{name: f"lucid.nn.extras.functional:{name}" for name in _EXTRA_FUNCTIONS.split()},
        **{f"{name}_with_indices": f"lucid.ops.nn.pooling_with_indices:{name}_with_indices" for name in _WITH_INDICES.split()},
        "conv_tbc": "lucid:conv_tbc", "grouped_mm": "lucid.ops.linalg.older_names:grouped_mm",
        "native_channel_shuffle": "lucid:native_channel_shuffle",
    },
    "lucid.nn.utils": {name: f"lucid.nn.extras.helpers:{name}" for name in _EXTRA_UTILITIES.split()},
}


def load(where: str) -> Any:
    """The module or the object in it that an entry of `LAZY` names."""
    module, _, name = where.partition(":")
    found = importlib.import_module(module)
    return getattr(found, name) if name else found
