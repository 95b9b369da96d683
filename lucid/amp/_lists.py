"""What autocast does with each operation, as in PyTorch 2.13 on a CPU and on a GPU. Others take their arguments as they are.

Sources: the documentation of PyTorch's autocast (https://docs.pytorch.org/docs/2.13/amp.html#autocast-op-reference), and for what
it leaves out, what PyTorch does (`tests/parity/test_autocast.py` compares).

A name stands for the function in `lucid`, `lucid.nn.functional`, the methods of Tensor and `FURTHER`; with a prefix, in
`lucid.linalg` or `lucid.fft`.
"""
from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from .. import fft, linalg
from .. import ops as _ops  # noqa: F401  (its families are imported)
from ..nn import functional
from ..ops.nn import convolution, linear_activation, native_results, recurrent
from ..tensor import Tensor

_PRODUCTS = """
addbmm addmm baddbmm bmm chain_matmul conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d
convolution convolution_relu linalg.multi_dot linalg.vecdot linear linear_activation matmul __matmul__ __rmatmul__ mm
perceptron prelu scaled_dot_product_attention"""
_LOSSES = """
binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy hinge_embedding_loss huber_loss kl_div l1_loss
linear_cross_entropy margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss poisson_nll_loss
smooth_l1_loss soft_margin_loss triplet_margin_loss"""

#: device → policy → names; `_policies` has the policies.
LISTS: dict[str, dict[str, str]] = {
    "cpu": {
        "lower": _PRODUCTS,
        "lower_products": "einsum inner tensordot",
        "wide": f"""
            {_LOSSES} adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d binary_cross_entropy cdist cholesky cholesky_inverse
            cholesky_solve ctc_loss fractional_max_pool2d fractional_max_pool3d geqrf grid_sample grid_sampler grid_sampler_2d
            grid_sampler_3d inverse lu lu_solve max_unpool1d max_unpool2d max_unpool3d
            nanquantile orgqr ormqr pinverse polar prod qr quantile stft svd trace
            triangular_solve view_as_complex
            fft.fft fft.fft2 fft.fftn fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ihfft fft.irfft fft.irfft2 fft.irfftn fft.rfft
            fft.rfft2 fft.rfftn
            linalg.cholesky linalg.cholesky_ex linalg.cond linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh
            linalg.householder_product linalg.inv linalg.inv_ex linalg.lstsq linalg.matrix_rank linalg.qr linalg.solve linalg.svd
            linalg.svdvals linalg.tensorinv linalg.tensorsolve""",
        "wide_padding": "pad",
        "wide_without_indices": "max_pool3d",
        "wide_rounded": "linalg.pinv",
        "widest": "cat concat concatenate index_copy stack",
        "recurrent_cpu": "run_direction run_layers run_step",
    },
    "gpu": {
        "lower": f"{_PRODUCTS} addmv addr einsum mv run_direction run_layers run_step",
        "wide": f"""
            {_LOSSES} acos arccos asin arcsin cdist cosh cosine_similarity cumulative_trapezoid dist erfinv exp expm1
            group_norm layer_norm linalg.norm local_response_norm log log10 log1p log2 logsumexp multilabel_soft_margin_loss
            native_layer_norm norm normalize
            pairwise_distance pdist pow __pow__ __rpow__ reciprocal renorm rms_norm rsqrt sinh softplus square
            tan trapezoid trapz""",
        "wide_dtype": """
            cumprod cumsum linalg.matrix_norm linalg.vector_norm log_softmax prod softmax special.log_softmax special.softmax
            sum""",
        "wide_resampling": "interpolate upsample upsample_bilinear upsample_nearest",
        "widest": """
            addcdiv addcmul arctan2 atan2 bilinear cross dot grid_sample grid_sampler index_put inner scatter_add tensordot
            vdot""",
        "refused": "binary_cross_entropy",
    },
}

#: Functions of lucid.ops that PyTorch writes with operations, which autocast sees: module → names, or all of the module.
COMPOSED: dict[str, frozenset[str] | None] = {
    "lucid.ops.linalg.products": frozenset(("chain_matmul", "matrix_power", "multi_dot", "_chain")),
    "lucid.ops.nn.multi_head_attention": None,
    "lucid.ops.nn.native": None,
    "lucid.ops.reduction.var_std": frozenset(("cov", "corrcoef")),
}

#: What stands between a call and the function: the keyword `out`, operators, names of keywords.
WRAPPERS = frozenset(("lucid.ops._operands", "lucid.ops._out", "lucid.ops._methods", "lucid._namespace.forwarding",
                      "lucid._namespace.keywords", "lucid.overrides.switching"))


def functions(name: str) -> Iterator[Any]:
    """The public functions and methods of a name of `LISTS`."""
    import lucid
    from lucid import special

    prefix, _, last = name.rpartition(".")
    further: tuple[ModuleType | type, ...] = (lucid, functional, Tensor, recurrent, convolution, linear_activation,
                                             native_results)
    for owner in ({"linalg": linalg, "fft": fft, "special": special}[prefix],) if prefix else further:
        found = vars(owner).get(last)
        if callable(found):
            yield found
