"""Which operations of a GPU are repeated by plans (`lucid_kernels.cuda.runtime.plans`)."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lucid_kernels.cuda.runtime import plans

Kernel = Callable[..., Any]

#: Their launchers launch kernels of ours alone, or are seen to do more. Not here: the steps of optimizers, which keep their own;
#: what sorts, waits or is made of CuPy's functions.
PLANNED = frozenset("""
relu sigmoid tanh silu gelu relu_grad sigmoid_grad tanh_grad silu_grad gelu_grad add sub mul div
erf erfc erfinv erfcx ndtr ndtri log_ndtr lgamma digamma i0 i0e i1 i1e
softmax softmax_grad log_softmax log_softmax_grad attention attention_grad cross_entropy
random_uniform random_exponential random_normal random_integers dropout
batch_norm batch_norm_grad batch_norm_eval batch_norm_eval_grad batch_norm_relu batch_norm_relu_grad
layer_norm layer_norm_grad group_norm group_norm_grad rms_norm rms_norm_grad
conv2d conv2d_relu conv2d_grad_input conv2d_grad_weight conv2d_grad_parameters
max_pool2d adaptive_max_pool2d max_pool2d_grad max_pool2d_gather avg_pool2d avg_pool2d_grad adaptive_avg_pool2d
adaptive_avg_pool2d_grad check_bounds fused grid_sample matmul linear linear_grad
""".split())
#: Their attributes that differ in each call and are arguments of kernels.
MOVING = dict.fromkeys("random_uniform random_exponential random_normal random_integers dropout".split(), ("seed", "offset"))


def planned(name: str, kernel: Kernel, recordable: Kernel | None = None) -> Kernel:
    """`kernel`, the operation `name`, by plans if it is one of `PLANNED`."""
    return plans.planned(kernel, recordable, MOVING.get(name, ())) if name in PLANNED else kernel


def all_planned(entries: dict[str, Kernel]) -> dict[str, Kernel]:
    """`planned` of every entry of a table."""
    return {name: planned(name, kernel) for name, kernel in entries.items()}
