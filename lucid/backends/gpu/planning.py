"""Which operations of a GPU are repeated by plans (`lucid_kernels.cuda.runtime.plans`)."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from lucid_kernels.cuda.runtime import plans

from ..elementwise import ROWS
from . import packed_weights

Kernel = Callable[..., Any]

#: Their launchers launch kernels of ours alone, or are seen to do more. Not here: the steps of optimizers, which keep their own;
#: what sorts, waits or is made of CuPy's functions.
PLANNED = frozenset("""
softmax softmax_grad log_softmax log_softmax_grad attention attention_grad cross_entropy nll_loss nll_loss_grad ctc_loss
random_uniform random_exponential random_normal random_integers dropout
batch_norm batch_norm_grad batch_norm_eval batch_norm_eval_grad batch_norm_relu batch_norm_relu_grad
layer_norm layer_norm_grad group_norm group_norm_grad rms_norm rms_norm_grad
conv2d conv2d_relu conv2d_grad conv2d_grad_input conv2d_grad_weight conv2d_grad_parameters
max_pool2d adaptive_max_pool2d max_pool2d_grad max_pool2d_gather avg_pool2d avg_pool2d_grad adaptive_avg_pool2d
adaptive_avg_pool2d_grad sum prod mean nansum max min norm norm2 norm2_grad logsumexp any all argmax argmin max_with_indices
min_with_indices extreme extreme_grad norm_grad
var std var_mean std_mean copy cast fill concatenate stack check_bounds check_nonzero embedding fused
index_select gather bag_edges bag_indices bag_lengths bag_sums bag_maxima
grid_sample grid_sample_grad matmul linear linear_grad linear_relu linear_gelu perceptron_relu perceptron_gelu perceptron_grad
recurrence recurrence_grad where masked_fill embedding_grad index_select_grad index_put scatter_new scatter scatter_reduce
gather_grad place
bitwise_and bitwise_or bitwise_xor bitwise_invert bitwise_left_shift bitwise_right_shift
""".split()).union(name for name, row in ROWS.items() if row.half or row.family or row.cuda)
#: Their attributes that differ in each call and are arguments of kernels.
MOVING = dict.fromkeys("random_uniform random_exponential random_normal random_integers dropout".split(), ("seed", "offset"))


def planned(name: str, kernel: Kernel, *, numbers: bool = False) -> Kernel:
    """`kernel`, the operation `name`, by plans if it is one of `PLANNED`. With `numbers` it gives those among its operands to its
    kernels as they are, so that a plan serves all; else they are in the key of the plan.
    """
    if name not in PLANNED:
        return kernel
    found = plans.planned(kernel, numbers=numbers, moves=MOVING.get(name, ()))
    if name in ("recurrence", "recurrence_grad"):
        return _of_equal_batches(found, kernel)
    return packed_weights.kept(found, relu=name.endswith("relu")) if name in ("conv2d", "conv2d_relu") else found


def _of_equal_batches(planned: Kernel, plain: Kernel) -> Kernel:
    """A recurrent network by one plan where its sequences are of one length; else `plain`, whose steps have plans."""
    @functools.wraps(plain)
    def call(*arrays: Any, batch_sizes: Sequence[int], **attributes: Any) -> Any:
        kernel = planned if batch_sizes[0] == batch_sizes[-1] else plain  # they never increase
        return kernel(*arrays, batch_sizes=batch_sizes, **attributes)

    return call


def all_planned(entries: dict[str, Kernel]) -> dict[str, Kernel]:
    """`planned` of every entry of a table."""
    return {name: planned(name, kernel) for name, kernel in entries.items()}
