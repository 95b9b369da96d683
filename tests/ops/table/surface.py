"""The names of the operation surface, family by family, for the test that compares them with the code and with PyTorch."""
from __future__ import annotations

FUNCTIONS = {
    "creation": """arange linspace logspace zeros ones full empty zeros_like ones_like full_like empty_like eye tril_indices triu_indices
        meshgrid cartesian_prod combinations complex polar from_numpy from_dlpack asarray as_tensor tensor""",
    "random": """rand randn randint rand_like randn_like randint_like randperm normal bernoulli multinomial Generator get_rng_state
        set_rng_state manual_seed initial_seed seed""",
    "unary": """abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac lgamma
        log log10 log1p log2 logit mvlgamma nan_to_num neg polygamma positive rad2deg reciprocal round rsqrt sgn sigmoid sign signbit
        sin sinh sinc sqrt square tan tanh trunc i0 angle conj real imag isfinite isinf isnan isposinf isneginf isreal""",
    "binary": """add sub mul div floor_divide remainder fmod pow float_power maximum minimum fmax fmin atan2 hypot logaddexp logaddexp2
        xlogy copysign nextafter heaviside ldexp gcd lcm lerp clamp clip addcmul addcdiv where eq ne lt le gt ge isclose allclose equal
        logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift
        bitwise_right_shift""",
    "reductions": """sum mean prod var std var_mean std_mean amin amax aminmax min max argmin argmax all any median nanmedian mode
        quantile nanquantile nansum nanmean logsumexp norm dist count_nonzero cumsum cumprod cummax cummin logcumsumexp diff trapezoid
        trapz cumulative_trapezoid histc histogram bincount unique unique_consecutive cov corrcoef""",
    "shape": """reshape flatten unflatten ravel squeeze unsqueeze broadcast_to broadcast_tensors broadcast_shapes permute transpose
        swapaxes swapdims movedim moveaxis t cat concat concatenate stack hstack vstack dstack column_stack row_stack split tensor_split
        chunk hsplit vsplit dsplit unbind tile repeat_interleave flip fliplr flipud roll rot90 diag diagonal diag_embed diagflat tril
        triu narrow select atleast_1d atleast_2d atleast_3d block_diag as_strided select_scatter slice_scatter diagonal_scatter
        as_strided_scatter""",
    "indexing": """index_select index_add index_copy index_fill index_put index_reduce gather scatter scatter_add scatter_reduce take
        take_along_dim put masked_fill masked_scatter masked_select nonzero argwhere searchsorted bucketize sort argsort topk kthvalue
        msort isin""",
    "linear algebra": """matmul mm bmm mv dot vdot inner outer addmm addmv addbmm baddbmm addr einsum tensordot kron cross trace
        chain_matmul cholesky cholesky_solve cholesky_inverse det slogdet logdet lu_solve matrix_exp matrix_power pinverse qr svd
        inverse vander""",
    "dtypes": "finfo iinfo result_type promote_types can_cast set_default_dtype get_default_dtype get_default_device",
}
LUCID_FUNCTIONS = "power multiply divide concatenate ravel swapaxes hstack"
TENSOR_TYPES = "HalfTensor BFloat16Tensor FloatTensor DoubleTensor ByteTensor CharTensor ShortTensor IntTensor LongTensor BoolTensor"
METHODS = """view view_as reshape_as expand expand_as repeat unfold new_tensor new_zeros new_ones new_full new_empty uniform_ normal_
    exponential_ bernoulli_ random_ fill_ zero_ copy_ masked_scatter_ index_put_ put_ squeeze_ unsqueeze_ transpose_ swapaxes_ t_ is_gpu
    gpu free type_as storage_offset sum_to_size"""
PROPERTIES = "T mT H mH real imag grad data shape dtype device ndim"
MODULES = {
    "linalg": """matmul multi_dot cholesky cholesky_ex cond det slogdet eig eigh eigvals eigvalsh inv inv_ex lstsq lu lu_factor lu_solve
        matrix_exp matrix_norm matrix_power matrix_rank norm vector_norm pinv qr solve solve_ex solve_triangular svd svdvals tensorinv
        tensorsolve vander vecdot cross diagonal""",
    "fft": """fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft hfft2 ihfft2 hfftn ihfftn fftfreq rfftfreq
        fftshift ifftshift""",
    "special": """entr erfcx gammainc gammaincc gammaln i0e i1 i1e log_ndtr log_softmax ndtr ndtri softmax xlog1py zeta""",
    "random": "seed get_seed rand randn randint uniform bernoulli permutation fork_rng get_rng_state set_rng_state manual_seed initial_seed",
    "einops": "rearrange reduce repeat einsum",
}
