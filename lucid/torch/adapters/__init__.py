"""What is written here on top of lucid, where PyTorch has a name and lucid has none, or another meaning for it.

A module serves the names in its `__all__` for one module of PyTorch. They are imported with the first name that is asked for.

`root`: `torch` itself.
`functions`: its private functions that libraries call.
`files`: `torch.save` and `torch.load`, whose files are PyTorch's by default.
`pickles`: files that hold more than tensors and plain containers.
`internals`: `torch._C` and other private modules.
`version`: `torch.version`.
`storage`: `torch.UntypedStorage`.
`backends`: the switches of PyTorch's backends.
`library`: `torch.library`: operators that programs define.
`operators`: `torch.ops`, where they are found.
`vision`: the operators that torchvision has in C++.
`hub`: `torch.hub`.
`processes`: `torch.multiprocessing`.
`jit`: what programs for `torch.jit` call when they run as Python.
`traced`: `torch.jit.trace` and `freeze`.
`tracing`: private names of `torch.fx`.
`passes`: `torch.fx.passes.shape_prop`.
`optimizer`: what optimizers of other libraries take from `torch.optim.optimizer`.
`modules`: helpers of `torch.nn.modules` that libraries import.
`arguments`: how the arguments of `to` are read.
`tensorboard`: `torch.utils.tensorboard`.
`contexts`: switches that libraries derive theirs from.
`results`: `torch.return_types`.
`collate`: what libraries take from the module of `default_collate`.
"""
from __future__ import annotations


def _table(text: str) -> dict[str, str]:
    return dict(line.split() for line in text.strip().splitlines())


#: The adapter of a module of PyTorch.
ADAPTERS = _table("""
torch root
torch._C internals
torch._C._nn arguments
torch._utils internals
torch._custom_ops library
torch.fx._symbolic_trace tracing
torch.fx.passes.shape_prop passes
torch.hub hub
torch.jit jit
torch.library library
torch.multiprocessing processes
torch.nn.modules.utils modules
torch.optim.optimizer optimizer
torch.return_types results
torch.serialization pickles
torch.storage storage
torch.utils._contextlib contexts
torch.utils.data._utils.collate collate
torch.version version
""")
#: Single names: where they are.
OBJECTS = _table("""
torch.TypedStorage storage:TypedStorage
torch.UntypedStorage storage:UntypedStorage
torch.fx.graph_module._CodeOnlyModule tracing:_CodeOnlyModule
torch.fx.graph_module._USER_PRESERVED_ATTRIBUTES_KEY tracing:_USER_PRESERVED_ATTRIBUTES_KEY
torch.fx.graph_module._copy_attr tracing:_copy_attr
torch.jit.RecursiveScriptModule traced:RecursiveScriptModule
torch.jit.ScriptFunction traced:ScriptFunction
torch.jit.ScriptModule traced:ScriptModule
torch.jit.TopLevelTracedModule traced:TopLevelTracedModule
torch.jit.TracedModule traced:TracedModule
torch.jit.TracerWarning traced:TracerWarning
torch.jit.freeze traced:freeze
torch.jit.optimize_for_inference traced:optimize_for_inference
torch.jit.run_frozen_optimizations traced:run_frozen_optimizations
torch.jit.trace traced:trace
torch.jit.trace_module traced:trace_module
torch.jit._script.RecursiveScriptModule traced:RecursiveScriptModule
torch.jit._script.ScriptModule traced:ScriptModule
torch.jit._trace.TopLevelTracedModule traced:TopLevelTracedModule
torch.jit._trace.TracedModule traced:TracedModule
torch.jit._trace.TracerWarning traced:TracerWarning
torch.jit._trace.trace traced:trace
torch.jit._trace.trace_module traced:trace_module
torch.load files:load
torch.save files:save
torch._utils._rebuild_meta_tensor_no_storage pickles:_rebuild_meta_tensor_no_storage
torch._utils._rebuild_parameter pickles:_rebuild_parameter
torch._utils._rebuild_tensor_v2 pickles:_rebuild_tensor_v2
torch._cast_Byte functions:_cast_Byte
torch._cast_Char functions:_cast_Char
torch._cast_Double functions:_cast_Double
torch._cast_Float functions:_cast_Float
torch._cast_Half functions:_cast_Half
torch._cast_Int functions:_cast_Int
torch._cast_Long functions:_cast_Long
torch._cast_Short functions:_cast_Short
torch._convert_indices_from_coo_to_csr functions:_convert_indices_from_coo_to_csr
torch._convert_indices_from_csr_to_coo functions:_convert_indices_from_csr_to_coo
torch._segment_reduce functions:_segment_reduce
torch.distributions.transforms._sum_rightmost functions:_sum_rightmost
torch.distributions.utils._sum_rightmost functions:_sum_rightmost
torch.distributions.utils._standard_normal functions:_standard_normal
torch.amp.autocast_mode.autocast root:_autocast
torch.backends.cpu.get_cpu_capability backends:get_cpu_capability
torch.nn.modules.module._WrappedHook modules:_WrappedHook
torch.nn.modules.module._IncompatibleKeys modules:_IncompatibleKeys
torch.nn.modules.module._addindent modules:_addindent
torch.onnx.operators.shape_as_tensor root:_shape_as_tensor
torch.serialization.DEFAULT_PROTOCOL internals:DEFAULT_PROTOCOL
torch.serialization.load files:load
torch.serialization.save files:save
torch.storage._load_from_bytes storage:_load_from_bytes
torch.torch_version.TorchVersion version:TorchVersion
torch.types._Number internals:_Number
torch.utils._foreach_utils._device_has_foreach_support optimizer:_device_has_foreach_support
torch.utils._foreach_utils._get_foreach_kernels_supported_devices optimizer:_get_foreach_kernels_supported_devices
torch.utils._foreach_utils._get_fused_kernels_supported_devices optimizer:_get_fused_kernels_supported_devices
torch.utils._foreach_utils._group_tensors_by_device_and_dtype optimizer:_group_tensors_by_device_and_dtype
torch.utils._foreach_utils._has_foreach_support optimizer:_has_foreach_support
torch.utils.model_zoo.tqdm hub:tqdm
""")
#: Objects that are modules.
MODULES = _table("""
torch.torch root:_torch
torch.ops operators:ops
torch.backends.cudnn backends:cudnn
torch.backends.cuda backends:cuda
torch.backends.mkldnn backends:mkldnn
torch.__config__ backends:config
torch.onnx.symbolic_opset11 backends:symbolic_opset11
torch.utils.tensorboard tensorboard:module
""")
