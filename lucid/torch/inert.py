"""Names without effect on any number: they mark functions for a compiler that is not here, say that something is not there, or
stand in annotations.

A line is a module, what the names are, and names:

- `identity`: a decorator, with or without arguments, that gives the function back;
- `false`, `true`, `none`, `zero`, `empty`: a function that returns so, whatever it gets;
- `context`: a context manager, and a decorator, that does nothing;
- `any`, `list`, `final`: something for annotations;
- `type`: a class of which nothing is an instance;
- `constant`: False.
"""
from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, Final

NONE: Any = object()

_TABLE = """
torch identity: _disable_dynamo
torch type: BoolStorage ByteStorage CharStorage ShortStorage IntStorage LongStorage HalfStorage BFloat16Storage FloatStorage
torch type: DoubleStorage ComplexFloatStorage ComplexDoubleStorage
torch type: PyTorchFileReader PyTorchFileWriter
torch any: TensorType
torch.jit identity: script script_if_tracing _script_if_tracing ignore unused export interface script_method _overload
torch.jit identity: _overload_method
torch.jit false: is_scripting is_tracing
torch.jit final: Final
torch.jit none: set_fusion_strategy enable_onednn_fusion onednn_fusion_enabled
torch.jit context: optimized_execution fuser
torch.jit type: CompilationUnit
torch.jit type: Future
torch.jit._script identity: script script_method
torch.jit._trace false: is_tracing
torch.jit.annotations list: List BroadcastingList1 BroadcastingList2 BroadcastingList3
torch._jit_internal identity: _copy_to_script_wrapper ignore unused export _overload _overload_method
torch._jit_internal false: is_scripting
torch._jit_internal list: BroadcastingList1 BroadcastingList2 BroadcastingList3
torch.fx.experimental.proxy_tensor none: get_proxy_mode
torch.fx.experimental.symbolic_shapes false: is_symbolic has_free_symbols is_concrete_int
torch.fx.experimental.symbolic_shapes empty: free_symbols
torch._subclasses type: FakeTensor FakeTensorMode
torch._subclasses.fake_tensor false: is_fake
torch._subclasses.fake_tensor type: FakeTensor FakeTensorMode
torch.compiler context: set_stance set_enable_guard_collectives
torch._compile identity: _disable_dynamo
torch._dynamo identity: assume_constant_result allow_in_graph disable disallow_in_graph forbid_in_graph run
torch._dynamo false: is_compiling is_dynamo_supported
torch._dynamo none: graph_break reset mark_dynamic mark_static mark_static_address maybe_mark_dynamic
torch._dynamo type: OptimizedModule
torch._dynamo.utils false: is_compile_supported
torch._dynamo.eval_frame type: OptimizedModule
torch._dynamo.external_utils false: is_compiling
torch._dynamo._trace_wrapped_higher_order_op context: TransformGetItemToIndex
torch._C none: _log_api_usage_once _log_api_usage_metadata _get_tracing_state _jit_set_profiling_executor
torch._C none: _jit_set_profiling_mode _jit_set_texpr_fuser_enabled _jit_override_can_fuse_on_gpu
torch._C none: _jit_override_can_fuse_on_cpu _set_graph_executor_optimize _jit_set_bailout_depth
torch._C none: _jit_set_nvfuser_enabled
torch._C false: _is_tracing _are_functorch_transforms_active _has_mkldnn _cuda_isCurrentStreamCapturing
torch._C false: _is_torch_function_mode_enabled
torch._C true: _dispatch_has_kernel_for_dispatch_key
torch._C type: ScriptFunction ScriptModule Graph Value Node TensorType NumberType FunctionSchema Type Future
torch.xpu false: is_available is_initialized is_current_stream_capturing _is_in_bad_fork
torch.xpu zero: device_count
torch.xpu none: empty_cache synchronize manual_seed manual_seed_all
torch.mps false: is_available
torch.mps zero: device_count
torch.mtia false: is_available is_initialized
torch.mtia zero: device_count
torch.backends.mkldnn false: is_available
torch.backends.mkl false: is_available
torch.backends.openmp false: is_available
torch.backends.xnnpack constant: enabled
torch.backends.opt_einsum false: is_available
torch.backends.cusparselt false: is_available
torch.cuda constant: _initialized
torch.onnx none: register_custom_op_symbolic unregister_custom_op_symbolic
torch.onnx.symbolic_helper identity: parse_args
torch.profiler false: kineto_available
torch.profiler context: record_function
torch.autograd.profiler context: record_function emit_nvtx emit_itt
torch.serialization none: register_package
torch.serialization any: MAP_LOCATION FileLike StorageType
torch.types any: FileLike IntLikeType FloatLikeType BoolLikeType PySymType Device Storage
torch.distributed false: is_torchelastic_launched is_gloo_available is_mpi_available is_nccl_available
torch.distributed false: is_ucc_available is_xccl_available
torch.distributed type: ProcessGroup DeviceMesh Store Work
torch.distributed.device_mesh type: DeviceMesh
torch.distributed.tensor type: DTensor Shard Replicate Partial Placement
torch.distributed._tensor type: DTensor Shard Replicate Partial Placement
torch.distributed._tensor.experimental context: implicit_replication
torch.distributed._composable.fsdp type: FSDPModule
torch.distributed.fsdp type: FullyShardedDataParallel FSDPModule
torch.distributed.algorithms.join type: Join Joinable JoinHook
torch.nn.common_types any: _size_1_t _size_2_t _size_3_t _size_4_t _size_5_t _size_6_t _size_any_t _size_2_opt_t
torch.nn.common_types any: _size_3_opt_t _size_any_opt_t _ratio_2_t _ratio_3_t _ratio_any_t _tensor_list_t
torch.nn.common_types any: _maybe_indices_t
torch.optim.optimizer any: ParamsT
torch.utils.data.dataloader any: _collate_fn_t _worker_init_fn_t
torch.optim.optimizer type: _RequiredParameter
torch.optim.optimizer identity: _use_grad_for_differentiable _disable_dynamo_if_unsupported
torch.utils._pytree any: Context DumpableContext FlattenFunc UnflattenFunc FlattenFn UnflattenFn
torch.utils._python_dispatch type: TorchDispatchMode
torch.utils._python_dispatch false: is_traceable_wrapper_subclass
torch.library identity: register_fake register_vmap impl_abstract register_torch_dispatch
torch._inductor.config constant: max_autotune triton
torch.masked type: MaskedTensor
torch.package type: PackageImporter PackageExporter
torch.ao.quantization type: ObserverBase QConfig
"""


def _identity(function: Any = None, *arguments: Any, **keywords: Any) -> Any:
    """A decorator that gives back what it decorates; with other arguments a decorator that does."""
    return function if callable(function) else lambda decorated: decorated


class _Nothing(contextlib.ContextDecorator):
    """A context in which nothing is different."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        pass

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def _returning(value: Any, name: str) -> Callable[..., Any]:
    def inert(*arguments: Any, **keywords: Any) -> Any:
        return value

    inert.__name__ = inert.__qualname__ = name
    return inert


class _NoInstances(type):
    """The type of classes of which nothing is an instance: what would make one is refused."""

    _full: str

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        from .refused import refuse_use
        refuse_use(cls._full)

    def __getitem__(cls, parameters: Any) -> Any:
        return cls


_MAKERS: dict[str, Callable[[str, str], Any]] = {
    "identity": lambda module, name: _identity,
    "false": lambda module, name: _returning(False, name),
    "true": lambda module, name: _returning(True, name),
    "none": lambda module, name: _returning(None, name),
    "zero": lambda module, name: _returning(0, name),
    "empty": lambda module, name: _returning((), name),
    "context": lambda module, name: _Nothing,
    "any": lambda module, name: Any,
    "final": lambda module, name: Final,
    "list": lambda module, name: list,
    "type": lambda module, name: _NoInstances(name, (), {"_full": f"{module}.{name}", "__module__": module}),
    "constant": lambda module, name: False,
}


@functools.cache
def _table() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for line in _TABLE.strip().splitlines():
        what, _, names = line.partition(":")
        module, kind = what.split()
        found.setdefault(module, {}).update(dict.fromkeys(names.split(), kind))
    return found


def modules() -> list[str]:
    """The modules of PyTorch with inert names."""
    return list(_table())


def of(module: str) -> dict[str, str]:
    """The names of a module of PyTorch that are inert, with what they are."""
    return _table().get(module, {})


@functools.cache
def value(module: str, name: str) -> Any:
    """What stands for a name, the same object each time; `NONE` if it is not inert."""
    kind = of(module).get(name)
    return NONE if kind is None else _MAKERS[kind](module, name)
