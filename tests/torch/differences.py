"""Rows of docs/differences.md that need no switch in `lucid.torch`, with the reason, by their subjects. All others are checked by
programs/differences.py.
"""
from __future__ import annotations

_REASONS: dict[str, str] = {}


def _because(reason: str, subjects: str) -> None:
    _REASONS.update(dict.fromkeys(subjects.strip().splitlines(), reason))


_because("PyTorch raises there, or has nothing of the kind: no program that works with it gets so far", """
a buffer whose shape changes
`abs_` of complex tensors
`BufferDict`, `BufferList`
options of a buffer whose slot is set to None
`Buffer(cast=False)`
flat parameters
an edge that is made of a node
integers divided by zero, and offsets of `embedding_bag` that decrease, on a GPU
learning rates of captured steps
one kernel for a formula
`x[indices] = value` with a value of another dtype
copies of uninitialized parameters and buffers
freezing, `bfloat16()` and tensor hooks before the first call of a lazy module
`register_module_forward_hook(with_kwargs=True, always_call=True)` after an error
`capturable=True` of optimizers on a CPU
backward hooks of a module that returns a named tuple of an operation, such as `max(1)`
a buffer that gets a tensor or another shape after `AveragedModel` was made
batch norm and ReLU in one pass
`special.erfcx`, `log_ndtr`, `ndtri`, `zeta` of half-precision tensors
gradient of `nan_to_num` of complex tensors
`is_gpu`
`unique`, `histogram`, `searchsorted` of tensors that require grad
`cdist`, `pdist`, `histogramdd` of half precision
`out=` of `var`, `std`, `nansum`, `nanmean` (complex), `cumsum`, `cumprod` (bool), `all`, `any` (uint8)
`out=` of `sum`, `prod`, `median` over all elements, of `argsort`, `trace`, `matrix_exp`
convolution and pooling of integers
`linalg.lu` and `lu_factor` with `pivot=False`
`linalg.vander` and `matrix_exp` of half-precision tensors
writes in place to what `split`, `chunk` and `unbind` return, or to their base
Fourier transforms of empty batches
`Tensor(...)` beyond the arguments that PyTorch takes
`np.array(t, copy=False)`; `np.asarray` of bfloat16
`index_put_` with values of one leading dimension too many
views made in `no_grad` that are written with a graph, or whose base is
a second backward through in-place writes to views, `fft`, `imag`, `view_as_real`
`backward(inputs=[y])` where what computed y was written since
a complex end with imaginary part 0 of `linspace(dtype=)` of a real dtype
`bernoulli(x, p)`, `binomial` of tensors that require grad
`flex_attention` on a CPU
`__array_namespace__`, `to_device`
`einops.einsum` with the pattern first
dtypes for storage (`uint16`, `uint32`, `uint64`, `float8_*`)
sparse tensors on meta; vmap over one
`func.functionalize`
""")
_because("lucid raises where PyTorch computes", """
a view from a custom function, used after its base was written
`linalg.eigvals` of inf and NaN
`linalg.eigh` with NaN on the diagonal
`StopIteration` in a dataset or `collate_fn`
compressed files that become over 100 times as large
out-of-range index or label on a GPU
ONNX export
`__torch_function__` of classes that are no tensors
""")
_because("by its own documentation or definition PyTorch's result is wrong or undefined, or NaN where there is a limit", """
`LKJCholesky.sample`
`Kumaraswamy.mode`
divergences of infinite value, and of ContinuousBernoulli and Uniform(0, 1)
gradients of `CrossMapLRN2d`
`gelu` of inf in float32 on a CPU
NaN in a query of `scaled_dot_product_attention` on a CPU
`i0`, `special.i1` of infinities, `special.log_ndtr`'s gradient at -inf
`special.zeta` of NaN at a pole, `igamma` of NaN and a limit of the other argument
ties in `scatter_reduce(include_self=False)` with 'amax' and 'amin'
gradient of `scatter_reduce` with an index smaller than `src`, and of `as_strided_scatter`
gradient of `cholesky_solve` and `cholesky_inverse` for the triangle of the factor that is not read
`mode` of elements with NaN among them
`searchsorted`, `bucketize` of sequences that end in NaN
`binomial` of NaN
the gradient of `norm` of order 0
`nanmean` of more numbers in float16 than it holds, or of a larger sum
antialiased `interpolate` to one column
matrices without a result in `linalg.inv_ex`, `solve_ex` and `cholesky_ex`
second gradient of `linalg.det` of singular matrices
gradients of eigenvectors and singular vectors in what depends on their phases
`embedding_bag`: gradients with `scale_grad_by_freq`; numbers after the last offset with `include_last_offset`
complex numbers of NumPy as operands, and as ends of `linspace`
hooks on a view that is then written, or whose base is written without grad
gradients of attention rows whose mask is `finfo.min` or less, on a CPU
gradient of `interpolate(scale_factor=)` at an unchanged length ('nearest' in 1-d and 3-d, bicubic, antialiased)
linear `interpolate` at an infinite element of an unchanged length
`exponential_` of float16 at high rates
`logical_not_`, `logical_and_`, `logical_or_`, `logical_xor_` of tensors that require grad
second gradient of `elu`, `selu`, `celu` at 0 and of `hardswish` at NaN
gradient of `elu` and its like written in place
`finfo(float8_e5m2fnuz).eps`
complex `sigmoid` at -inf
gradients of `batch_norm` on a CPU, one sample, a gradient in channels-last order
`masked.norm` of a finite negative order
`differentiable=True` of optimizers
`remove_spectral_norm`
copies of a parametrized module
a step of an optimizer that calls `super().step()`
`functional_call` of shared and tied state
""")
_because("the same numbers, with another error of rounding", """
autocast: `linear_cross_entropy` in chunks; GRU and cells on a CPU with a float32 state; `cross_entropy` on a CPU
densities and gradients of VonMises, gradients of Gamma and Dirichlet samples
errors of `gelu` of float32 below -3 on a CPU
gradients of `hardsigmoid`, `celu` in float64
`polygamma(1)` and the gradient of `digamma`
`igamma`, `igammac` in float64
rounding errors of float32 3x3 convolutions of 32 channels and more on a CPU
`avg_pool3d` of integers
Bessel functions of `special`
`linalg.lstsq`
`lobpcg`
batch norm, ReLU and max pooling after each other in `nn.Sequential`
float16 with complex
`complex` of float16
float32 numbers below 1.2e-38 on a GPU
""")
_because("which of inf and NaN comes out of infinities is not specified", """
overflow inside float32 attention on a GPU
an infinite gradient that comes to `mish`, `hardswish`, `logsigmoid`
Fourier transforms of rows with infinities
""")
_because("only what is left after an error: nothing, where PyTorch leaves half a change", """
an in-place write to a buffer that a gradient needs
a refused batch in batch norm
a refused pruning of a pruned parameter
a batch that raises in `optim.swa_utils.update_bn`
a refused parametrization or assignment to a parametrized tensor
a vector too short for `vector_to_parameters`
""")
_because("the texts of nodes and reports only; no number depends on them", """
`FlopCounterMode`
the node of `Linear` and `ReLU` or tanh-`GELU` in a `Sequential` on a GPU
a plain tensor attribute left behind by `.to()`
""")
_because("speed only", """
`torch.backends.cudnn`
`compile`
`func.linearize`
`set_flush_denormal`, `get_num_interop_threads`
""")
for _subject, _reason in {
    "`state_dict()` aliases live state": "the same unless `copy=True` is given, which PyTorch has not",
    "`persistent` of a registered buffer": "only `nn.Buffer` objects that contradict their registration have it",
    "`share_memory_`": "tensors over one storage that are no views of each other; elements on a CPU are shared as in PyTorch",
    "statistics of memory": "numbers about the machine; the seeds of devices are one, of numbers that are lucid's own",
    "random numbers": "other numbers for the same seed, with the same distributions: docs/torch.md says so",
    "autocast: casts of parameters that are kept": "PyTorch computes with weights that are not the module's any more",
    "hooks of saved tensors": "what an operation saves is not specified; what is packed is unpacked",
    "a process forked while other Python threads live": "how many threads compute in it",
    "`functional_call` and the buffers that forward changes": "the same unless `return_buffers=True` is given",
    "None from a backward hook as a gradient": "a hook that ends a gradient: what is behind it gets none instead of zeros",
    "strides of elementwise results of permuted tensors": "PyTorch says that programs must not depend on what `reshape` copies",
    "`resize_` to more elements than the memory holds, `set_` beyond the end of a storage":
        "seen by tensors over the old storage only; `set_` raises",
    "`storage`, `untyped_storage`": "`torch.UntypedStorage` and `TypedStorage` are adapters with the elements",
    "NumPy arrays as operands and in `add`, `where`, `clamp`, `block_diag`": "the array first is refused by PyTorch, else the same",
    "`np.bool_` as a number": "the same number: PyTorch reads it as a float, so that the result's dtype is a floating one",
    "`detach()` of an inference tensor": "more is allowed with it",
    "`huber_loss` of two dtypes": "a loss of two dtypes has no gradients in PyTorch; without them it is the wider one here",
    "selective checkpoints": "operators of `torch.ops.aten` are refused by name",
    "`conj`, `mH`, `H` of complex tensors": "the same elements, also after writes; PyTorch has no NumPy array of a conjugate",
    "error class of `TensorDataset` and `ConcatDataset`": "the one for wrong lengths is raised as another class",
    "`allow_mutation_on_saved_tensors`": "the same gradients, with other memory",
    "scrambled points of `quasirandom.SobolEngine`": "random points, of the same distribution",
    "`__dlpack__(stream=)` by default": "both wait for the work before the exchange",
}.items():
    _because(_reason, _subject)

#: The reason by the subject of a row.
REASONS = _REASONS
