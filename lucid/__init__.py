"""lucid: a deep-learning array library in plain Python, with PyTorch's names and behaviour.

On a CPU it runs on NumPy and Numba kernels, on a CUDA machine on CuPy and our own CUDA kernels. Importing it imports neither
numba nor cupy: they come with the first operation that needs them.

>>> import lucid
>>> x = lucid.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
>>> (x @ x).sum().backward()
>>> x.grad
Tensor([[ 7.0, 11.0],
        [ 9.0, 13.0]], requires_grad=False)
"""
from builtins import bool as _bool
from math import e, inf, nan, pi

from . import autograd, gpu
from ._determinism import (
    are_deterministic_algorithms_enabled,
    is_deterministic_algorithms_warn_only_enabled,
    use_deterministic_algorithms,
)
from ._dtypes import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    dtype,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._dtypes import bool_ as bool
from ._layout import Layout as layout
from ._layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from ._limits import can_cast, finfo, iinfo
from ._namespace import einops_package as _einops_package
from ._namespace import old_names as _old_names
from ._namespace import pytorch_modules as _pytorch_modules
from ._namespace.absent import explain as _explain
from ._namespace.absent import listed as _listed
from ._namespace.builtins import publish
from ._random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from .autograd.grad_mode import is_grad_enabled, is_inference_mode_enabled
from .backends import Device as device
from .backends import default_device as get_default_device
from .backends import set_default_device
from .backends.memory_format import MemoryFormat as memory_format
from .backends.memory_format import channels_last, channels_last_3d, contiguous_format, preserve_format
from .backends.precision import get_float32_matmul_precision, set_float32_matmul_precision
from .backends.threads import get_num_threads, set_num_threads
from .ops.conversion import clone, conj, conj_physical, imag, real, result_type, type_as
from .ops.creation.creation import (
    arange,
    as_tensor,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    from_numpy,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    scalar_tensor,
    tensor,
    zeros,
    zeros_like,
)
from .ops.creation.fill import fill
from .ops.creation.types import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from .ops.elementwise.arithmetic import (
    add,
    div,
    divide,
    floor_divide,
    fmod,
    maximum,
    minimum,
    mul,
    multiply,
    neg,
    negative,
    pow,
    power,
    remainder,
    rsub,
    sub,
    subtract,
    true_divide,
)
from .ops.elementwise.binary import (
    arctan2,
    atan2,
    copysign,
    float_power,
    fmax,
    fmin,
    gcd,
    heaviside,
    hypot,
    lcm,
    ldexp,
    logaddexp,
    logaddexp2,
    nextafter,
    xlogy,
)
from .ops.elementwise.bitwise import (
    bitwise_and,
    bitwise_left_shift,
    bitwise_not,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
)
from .ops.elementwise.clamp import clamp, clamp_max, clamp_min, clip
from .ops.elementwise.comparison import (
    allclose,
    eq,
    equal,
    ge,
    greater,
    greater_equal,
    gt,
    isclose,
    le,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lt,
    ne,
    not_equal,
)
from .ops.elementwise.float_parts import frexp
from .ops.elementwise.gamma import digamma, igamma, igammac, lgamma, mvlgamma, polygamma
from .ops.elementwise.special import erf, erfc, erfinv, i0, logit, sinc
from .ops.elementwise.ternary import addcdiv, addcmul, lerp
from .ops.elementwise.trigonometry import (
    acos,
    acosh,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctanh,
    asin,
    asinh,
    atan,
    atanh,
    cos,
    cosh,
    deg2rad,
    rad2deg,
    sin,
    sinh,
    tan,
)
from .ops.elementwise.unary import (
    abs,
    absolute,
    angle,
    ceil,
    exp,
    exp2,
    expm1,
    fix,
    floor,
    frac,
    isfinite,
    isinf,
    isnan,
    isneginf,
    isposinf,
    isreal,
    log,
    log1p,
    log2,
    log10,
    nan_to_num,
    positive,
    reciprocal,
    round,
    rsqrt,
    sgn,
    sign,
    signbit,
    sqrt,
    square,
    trunc,
)
from .ops.elementwise.where import where
from .ops.fft.short_time_fourier import istft, stft
from .ops.fft.windows import bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window
from .ops.fusion import fuse
from .ops.indexing.gather import gather, take_along_dim
from .ops.indexing.index_slices import index_add, index_copy, index_fill, index_reduce, index_select
from .ops.indexing.indexing import index_put, put, take
from .ops.indexing.masking import masked_fill, masked_scatter, masked_select
from .ops.indexing.nonzero import argwhere, nonzero, nonzero_static
from .ops.indexing.scatter import scatter, scatter_add, scatter_reduce
from .ops.linalg.addmm import addbmm, addmm, addmv, addr, baddbmm
from .ops.linalg.adjoint import adjoint
from .ops.linalg.bilinear import bilinear
from .ops.linalg.det import det, logdet, slogdet
from .ops.linalg.distances import cdist, cosine_similarity, pairwise_distance, pdist
from .ops.linalg.einsum import einsum
from .ops.linalg.lowrank import pca_lowrank, svd_lowrank
from .ops.linalg.lstsq_pinv import pinverse
from .ops.linalg.lu import lu_solve, lu_unpack
from .ops.linalg.lu import torch_lu as lu
from .ops.linalg.matmul import bmm, dot, ger, linear, matmul, mm, mv, outer, vdot
from .ops.linalg.matrix_exp import matrix_exp
from .ops.linalg.norm import dist, norm, norm_except_dim, renorm
from .ops.linalg.products import chain_matmul, cross, inner, kron, matrix_power, tensordot, trace, vander
from .ops.linalg.qr_svd import geqrf, orgqr, ormqr
from .ops.linalg.qr_svd import torch_qr as qr
from .ops.linalg.qr_svd import torch_svd as svd
from .ops.linalg.solve import inverse
from .ops.linalg.triangular import cholesky, cholesky_inverse, cholesky_solve, triangular_solve
from .ops.manipulation.broadcasting import broadcast_shapes, broadcast_tensors, broadcast_to, expand, expand_as
from .ops.manipulation.buffers import empty_strided, frombuffer, range
from .ops.manipulation.complex import complex, polar, view_as_complex, view_as_real
from .ops.manipulation.diagonals import (
    diag,
    diag_embed,
    diagflat,
    diagonal,
    diagonal_scatter,
    tril,
    tril_indices,
    triu,
    triu_indices,
)
from .ops.manipulation.grids import cartesian_prod, combinations, logspace, meshgrid
from .ops.manipulation.joining import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    block_diag,
    cat,
    column_stack,
    concat,
    concatenate,
    dstack,
    hstack,
    row_stack,
    stack,
    vstack,
)
from .ops.manipulation.permutation import moveaxis, movedim, permute, swapaxes, swapdims, t, transpose
from .ops.manipulation.reordering import flip, fliplr, flipud, roll, rot90
from .ops.manipulation.repetition import repeat, repeat_interleave, tile
from .ops.manipulation.shape import flatten, ravel, reshape, reshape_as, squeeze, unflatten, unsqueeze, view, view_as
from .ops.manipulation.splitting import (
    chunk,
    dsplit,
    hsplit,
    narrow,
    select,
    select_scatter,
    slice_scatter,
    split,
    split_with_sizes,
    tensor_split,
    unbind,
    vsplit,
)
from .ops.manipulation.storage import resize_as_
from .ops.manipulation.strides import as_strided, as_strided_scatter
from .ops.nn.activation import log_softmax, relu, sigmoid, softmax, tanh
from .ops.nn.convolution import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from .ops.nn.native import (
    affine_grid_generator,
    alpha_dropout,
    alpha_dropout_,
    batch_norm,
    binary_cross_entropy_with_logits,
    constant_pad_nd,
    conv_tbc,
    convolution,
    cosine_embedding_loss,
    ctc_loss,
    dropout,
    dropout_,
    embedding,
    embedding_bag,
    embedding_renorm_,
    feature_alpha_dropout,
    feature_alpha_dropout_,
    feature_dropout,
    feature_dropout_,
    grid_sampler,
    group_norm,
    gru,
    gru_cell,
    hinge_embedding_loss,
    instance_norm,
    kl_div,
    layer_norm,
    lstm,
    lstm_cell,
    margin_ranking_loss,
    poisson_nll_loss,
    rnn_relu,
    rnn_relu_cell,
    rnn_tanh,
    rnn_tanh_cell,
    rrelu,
    rrelu_,
    triplet_margin_loss,
)
from .ops.nn.piecewise_activation import (
    celu,
    celu_,
    hardshrink,
    prelu,
    selu,
    selu_,
    threshold,
    threshold_,
)
from .ops.nn.pixel_shuffle import channel_shuffle, pixel_shuffle, pixel_unshuffle
from .ops.nn.pooling import max_pool2d
from .ops.nn.pooling_dimensions import adaptive_avg_pool1d, adaptive_max_pool1d, avg_pool1d, max_pool1d, max_pool3d
from .ops.nn.rms_norm import rms_norm
from .ops.properties import (
    detach,
    get_device,
    is_complex,
    is_conj,
    is_floating_point,
    is_inference,
    is_neg,
    is_nonzero,
    is_same_size,
    is_signed,
    numel,
    resolve_conj,
    resolve_neg,
    typename,
)
from .ops.random.random import normal, rand, rand_like, randint, randint_like, randn, randn_like, randperm
from .ops.random.sampling import bernoulli, binomial, multinomial, poisson
from .ops.reduction.cumulative import cummax, cummin, cumprod, cumsum, logcumsumexp
from .ops.reduction.finite_differences import diff, gradient
from .ops.reduction.hashing import hash_tensor
from .ops.reduction.max_min import amax, amin, aminmax, argmax, argmin, max, min
from .ops.reduction.reduction import all, any, count_nonzero, logsumexp, mean, nanmean, nansum, prod, sum
from .ops.reduction.segments import segment_reduce
from .ops.reduction.trapezoid import cumulative_trapezoid, trapezoid, trapz
from .ops.reduction.var_std import corrcoef, cov, std, std_mean, var, var_mean
from .ops.sorting.histogram import bincount, histc, histogram, histogramdd
from .ops.sorting.search import bucketize, isin, searchsorted, unravel_index
from .ops.sorting.sorting import argsort, msort, sort, topk
from .ops.sorting.statistics import kthvalue, median, mode, nanmedian, nanquantile, quantile
from .ops.sorting.unique import unique, unique_consecutive
from .serialization import load, save
from .tensor import Size, Tensor
from .tensor.format import set_printoptions

# Methods as functions, when all families have attached theirs.
# isort: split
from .ops.in_place import (
    abs_,
    acos_,
    acosh_,
    addmv_,
    arccos_,
    arccosh_,
    arcsin_,
    arcsinh_,
    arctan_,
    arctanh_,
    asin_,
    asinh_,
    atan_,
    atanh_,
    ceil_,
    clamp_,
    clamp_max_,
    clamp_min_,
    clip_,
    conj_physical_,
    cos_,
    cosh_,
    deg2rad_,
    detach_,
    erf_,
    erfc_,
    exp2_,
    exp_,
    expm1_,
    fill_,
    fix_,
    floor_,
    frac_,
    gcd_,
    i0_,
    index_put_,
    lcm_,
    ldexp_,
    log1p_,
    log2_,
    log10_,
    log_,
    logit_,
    nan_to_num_,
    neg_,
    negative_,
    rad2deg_,
    reciprocal_,
    relu_,
    round_,
    rsqrt_,
    sigmoid_,
    sin_,
    sinc_,
    sinh_,
    sqrt_,
    square_,
    tan_,
    tanh_,
    trunc_,
    xlogy_,
    zero_,
)

from . import data, fft, linalg, nn, optim, func, special, random  # isort: skip  (they import the functions above)

__version__ = "0.1.0"

_einops_package.introduce()
_old_names.install()
_pytorch_modules.install()
_explain(__name__, autograd.__name__, data.__name__, func.__name__, nn.__name__, nn.functional.__name__, nn.utils.__name__,
         optim.__name__, *(f"lucid.nn.modules{end}" for end in ("", ".linear", ".batchnorm", ".conv", ".instancenorm")))

cuda = gpu
newaxis = None
half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
cfloat, cdouble = complex64, complex128


def is_tensor(obj: object) -> _bool:
    """Whether `obj` is a Tensor.

    >>> lucid.is_tensor(lucid.ones(1)), lucid.is_tensor(np.ones(1))
    (True, False)
    """
    return isinstance(obj, Tensor)


__all__ = _listed(__name__, but=("levels", "ops", "publish", "serialization"))
publish(globals(), [name for name in __all__ if name in globals()])
del publish
