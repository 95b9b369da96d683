"""Why lucid lacks what PyTorch has: a label, what it means, and patterns of full names without ``torch.``, the first of which counts."""
from __future__ import annotations

import fnmatch

REASONS: dict[str, tuple[str, str]] = {
    "programs for PyTorch": (
        "`python -m lucid.torch` has it, or says by its name what to do instead: see [PyTorch programs on lucid](torch.md)",
        """jit* *.jit.* library* _C* ScriptModule classes* ops* overrides.redispatch_function utils.jit* *Storage
           storage* nn.modules.lazy* torch_version* package*"""),
    "compilers": (
        "of PyTorch's compilers and their graphs: `lucid.compile` records what a function runs, and replays it",
        """export* fx* parse_* import_ir* merge_type* unify_type* fork wait compiler* cond while_loop nativert* func.debug_unwrap
        autograd.graph.region_activation* utils.mobile* utils.model_dump* utils.bundled* utils.debug_log* utils.viz* utils.hipify*
        utils.cpp_* utils.throughput* utils._pytree.* contrib* utils.file_baton*"""),
    "several processes": (
        "of several processes or GPUs: lucid trains in one process on one device",
        """distributed* *nccl* nn.parallel.* batch_norm_* profiler.*ExecutionTrace* optim.swap_in_optimizer_params_and_state
        cuda.*Mem* numa*"""),
    "quantized": (
        "of quantized tensors, and of formats of 1 to 8 bits that only compute in PyTorch's own kernels",
        """*quant* ao* q_* *.q_* qint* quint* int_repr *.int_repr *.qscheme bit bits* int[1-7] uint[1-7] float4* fbgemm* choose_qparams*
        *scaled_mm *scaled_grouped_mm *.ScalingType *.SwizzleType fused_moving* *dequantize nn.intrinsic* nn.qat* Tensor.q_*"""),
    "other libraries": (
        "of libraries and devices that lucid does not use: cuDNN, MKL, cuSPARSELt, and GPUs that are not CUDA's",
        """cudnn_* miopen_* mkldnn_* *.to_mkldnn xpu* mps* mtia* *.xpu *.ipu *.mtia *_ipu_* *_xla_* has_* backends* utils.mkldnn*
        cuda.gds* cuda.green* cuda.jiterator* cuda.tunable* cuda.GreenContext *vulkan* profiler.itt* profiler.kineto* *SemiStructured*
        *semi_structured* nn.attention.* sparse.as_sparse_gradcheck autocast_*crement_nesting utils.backend_registration*
        profiler.DeviceType monitor*"""),
    "memory of GPUs": (
        "of PyTorch's own allocator of GPU memory: CuPy's is set by `cupy.cuda.set_allocator`",
        "cuda.memory* cuda.caching* cuda.change* cuda.CUDAPlug* cuda.use_mem_pool cuda.DeferredCudaCallError"),
    "nested": ("of nested and masked tensors: tensors are dense or sparse", "nested* *nested* *masked* *to_padded_tensor masked*"),
    "sparse": (
        "of sparse tensors by blocks or with dense dimensions, which lucid does not have",
        """*bsr* *bsc* saddmm *sparse_resize* *resize_as_sparse_ sparse*"""),
    "deprecated": (
        "given up by PyTorch: it raises there, or says what to use instead",
        """Tensor.eig Tensor.lstsq Tensor.solve Tensor.symeig Tensor.reinforce Tensor.resize Tensor.resize_as Tensor.volatile
        Tensor.name nn.backends* Tensor.storage_type utils.serialization* autograd.profiler_legacy* *.parse_nvprof_trace
        *.load_nvprof utils.backcompat* quantization* *.NestedIOFunction serialization.SourceChangeWarning
        serialization.check_module_version*"""),
    "complex32": ("complex numbers of two halves, which NumPy does not have", "complex32 *chalf"),
    "insides": (
        "inside of PyTorch: what its own functions, files or tests call",
        """slice_inverse *.slice_inverse *native_norm *thread_safe_generator *BackwardHook utils.checkpoint.* autograd.function.*
        Tensor.module_load Tensor.index *.is_distributed serialization.* AcceleratorError as_strided_ amp.autocast_mode.* cuda.amp*
        nn.functional.assert* nn.functional.has* cuda.*Storage func.rearrange *.cached_property utils.data.* *apply_shuffle_seed utils.flop_counter.* utils.collect_env* utils.show_pickle* utils.benchmark.*
        *enforce_grad_layout_policy autograd.profiler_util* autograd.profiler.*
        return_types*"""),
}


def reason(name: str) -> str | None:
    """The label of a full name, or None."""
    for label, (_, patterns) in REASONS.items():
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns.split()):
            return label
    return None
