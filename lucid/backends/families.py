"""Table entries that import their kernel on the first call, so that `import lucid` imports neither numba nor cupy."""
from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

from lucid_kernels.cpu.runtime import signals

Kernel = Callable[..., Any]

# Family module -> the op names that it serves; the same for `lucid_kernels.cpu` and `lucid_kernels.cuda`.
FAMILIES = {
    "elementwise.elementwise": "relu relu_grad gelu gelu_grad sigmoid sigmoid_grad tanh tanh_grad silu silu_grad",
    "reduction.softmax": "softmax softmax_grad log_softmax log_softmax_grad",
    "attention.attention": "attention attention_grad",
    "losses.cross_entropy": "cross_entropy",
    "losses.ctc_loss": "ctc_loss",
    "normalization.batch_norm": "batch_norm batch_norm_grad batch_norm_eval batch_norm_eval_grad",
    "normalization.batch_norm_relu": "batch_norm_relu batch_norm_relu_grad",
    "normalization.layer_norm": "layer_norm layer_norm_grad",
    "normalization.group_norm": "group_norm group_norm_grad",
    "normalization.rms_norm": "rms_norm rms_norm_grad",
    "convolution.conv2d": "conv2d conv2d_grad_input conv2d_grad_weight conv2d_grad_parameters",
    "pooling.pool2d": "max_pool2d adaptive_max_pool2d max_pool2d_grad max_pool2d_gather max_unpool2d avg_pool2d avg_pool2d_grad "
              "adaptive_avg_pool2d adaptive_avg_pool2d_grad",
    "interpolation.grid_sample": "grid_sample grid_sample_grad",
    "indexing.embedding": "embedding_grad",
    "recurrent.recurrent": "recurrence recurrence_grad",
    "random.random": "random_uniform random_exponential random_normal random_integers dropout",
    "optimizer": "sgd adam multi_tensor_sgd multi_tensor_adam",
    "indexing.bounds": "check_bounds",
    "elementwise.fused": "fused",
    "elementwise.special": "erf erfc erfinv erfcx ndtr ndtri log_ndtr lgamma digamma polygamma i0 i0e i1 i1e zeta gammainc "
                           "gammaincc",
}

# Operations that NumPy and CuPy have too. Theirs serve small arrays and mixed dtypes: a call costs 0.1 us less than through
# Python. Ours serve `large_add` and so on: arrays of one dtype, or one and a number, with at least LARGE elements, or MIDDLE of
# half precision, which NumPy converts one by one.
ARITHMETIC = ("add", "sub", "mul", "div")
LARGE, MIDDLE = 1 << 16, 1 << 11
# Elements from which other kernels serve, of functions at which NumPy is slow: it takes 1 to 15 ns for each, and a kernel some
# microseconds to be called. Numba is imported with the first array of as many.
MANY = 1 << 12


def kernels(package: str, table: dict[str, Kernel], elementwise: Callable[[str, Kernel], Kernel] | None = None) -> None:
    """Add every kernel of `package` to `table`; each entry replaces itself by the kernel when first called.

    `elementwise` gives, for the name and the kernel of an activation, what to put into the table instead.
    """
    for family, names in FAMILIES.items():
        for name in names.split():
            wrap = elementwise if family == "elementwise.elementwise" else None
            table[name] = _first_call(f"{package}.{family}", name, table, name, wrap)
    for name in ARITHMETIC:
        table[f"large_{name}"] = _first_call(f"{package}.elementwise.elementwise", name, table, f"large_{name}")


def _first_call(module: str, name: str, table: dict[str, Kernel], entry: str,
                wrap: Callable[[str, Kernel], Kernel] | None = None) -> Kernel:
    def first_call(*arrays: Any, **attributes: Any) -> Any:
        with signals.deferred():  # half of a module cannot be imported again
            kernel = getattr(importlib.import_module(module), name)
        table[entry] = kernel if wrap is None else wrap(name, kernel)
        return table[entry](*arrays, **attributes)

    first_call.module, first_call.kernel = module, name  # type: ignore[attr-defined]
    return first_call


def are_few(x: Any) -> bool:
    """Whether NumPy serves the array `x` of real numbers as well as a kernel of elementwise arithmetic does."""
    size: int = x.size
    return size < MIDDLE or (size < LARGE and x.itemsize > 2)


def compiler_is_loaded() -> bool:
    """Whether a kernel has been imported: until then NumPy serves few elements, as Numba's import takes as long as thousands of
    such calls.
    """
    return "lucid_kernels.cpu.runtime.jit" in sys.modules
