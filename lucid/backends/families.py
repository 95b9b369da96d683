"""Table entries that import their kernel on the first call, so that `import lucid` imports neither numba nor cupy."""
from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

from lucid_kernels.cpu.runtime import signals

from .elementwise import ROWS
from .sizes import LARGE, MANY, MIDDLE, are_few

__all__ = ["FAMILIES", "LARGE", "MANY", "MIDDLE", "OF_GPU", "are_few", "compiler_is_loaded", "first_call", "kernels"]

Kernel = Callable[..., Any]

# Family module -> the op names that it computes; the same for `lucid_kernels.cpu` and `lucid_kernels.cuda`.
FAMILIES = {
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
    "matmul.csr_matmul": "csr_matmul csr_sampled",
    "recurrent.recurrent": "recurrence recurrence_grad",
    "random.random": "random_uniform random_exponential random_normal random_integers dropout",
    "random.gamma": "random_gamma",
    "random.pathwise": "standard_gamma_grad dirichlet_grad",
    "optimizer": "sgd adam multi_tensor_sgd multi_tensor_adam multi_tensor_unscale",
    "indexing.bounds": "check_bounds check_nonzero",
    "elementwise.fused": "fused",
}
# Those of `lucid_kernels.cuda` alone: on the CPU the operations are made of others.
OF_GPU = {"losses.nll_loss": "nll_loss nll_loss_grad", "indexing.take": "embedding index_select gather",
          "indexing.embedding_bag": "bag_edges bag_indices bag_lengths bag_sums bag_maxima", "convolution.conv2d": "conv2d_grad"}
for _row in ROWS.values():
    if _row.family:
        FAMILIES[_row.family] = f"{FAMILIES.get(_row.family, '')} {_row.name}"


def kernels(package: str, table: dict[str, Kernel], wrap: Callable[[str, Kernel], Kernel] | None = None,
            families: dict[str, str] = FAMILIES) -> None:
    """Add the kernels of `families` in `package`, without elementwise ones, to `table`, or what `wrap` makes of a name and it."""
    for family, names in families.items():
        for name in names.split():
            if name not in ROWS:
                table[name] = first_call(package, family, name, table, wrap and functools.partial(wrap, name))


def first_call(package: str, family: str, name: str, table: dict[str, Kernel], wrap: Callable[[Kernel], Kernel] | None = None
               ) -> Kernel:
    """The entry `name` of `table` that replaces itself by the kernel when it is first called, or by what `wrap` makes of that."""
    def entry(*arrays: Any, **attributes: Any) -> Any:
        with signals.deferred():  # half of a module cannot be imported again
            kernel = getattr(importlib.import_module(f"{package}.{family}"), name)
        table[name] = kernel if wrap is None else wrap(kernel)
        return table[name](*arrays, **attributes)

    entry.__module__, entry.__qualname__ = f"{package}.{family}", name
    return entry


def compiler_is_loaded() -> bool:
    """Whether a kernel has been imported: until then NumPy computes few elements, as Numba's import takes as long as thousands of
    such calls.
    """
    return "lucid_kernels.cpu.runtime.jit" in sys.modules
