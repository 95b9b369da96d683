"""Bugs that only show where several threads meet: many bad indices in one launch, blocks that take several rows.

The races that these checks make are what the bugs planted at every atomic and barrier (lucid_kernels/simulator/mutants.py) need
to be noticed. `EXEMPT` names the barriers that are not needed, each with the proof, and those that the simulator does not see.
"""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import numpy as np
from lucid_kernels.simulator.mutation import Exempt, Mutation


def reported(call: Callable[[], object]) -> None:
    """Run what meets bad indices: one of them is reported."""
    from lucid_kernels.cuda.runtime import launch

    call()
    try:
        launch.raise_pending()
    except IndexError:
        return
    raise AssertionError("bad indices went unnoticed")


def check_bounds() -> None:
    import cupy as cp
    from lucid_kernels.cuda.indexing import bounds

    reported(lambda: bounds.check_bounds(cp.full(64, 7), low=0, high=5, message="{value} of {limit}"))


def check_cross_entropy() -> None:
    import cupy as cp
    from lucid_kernels.cuda.losses.cross_entropy import cross_entropy

    options = {"reduction": "none", "ignore_index": -100, "label_smoothing": 0.0, "with_grad": True}
    for shape, labels in (((8, 3), 8), ((2, 3, 8), (2, 8))):
        x, target = cp.zeros(shape, np.float32), cp.full(labels, 7)
        reported(lambda x=x, target=target: cross_entropy(x, target, None, **options))


def check_nll_loss() -> None:
    import cupy as cp
    from lucid_kernels.cuda.losses.nll_loss import nll_loss

    x, target = cp.zeros((8, 3), np.float32), cp.full(8, 7)
    reported(lambda: nll_loss(x, target, None, reduction="none", ignore_index=-100))


def check_ctc_loss() -> None:
    import cupy as cp
    from lucid_kernels.cuda.losses.ctc_loss import ctc_loss

    x, labels, inputs, lengths = cp.zeros((5, 2, 3)), cp.full((2, 2), 7), cp.full(2, 5), cp.full(2, 2)
    reported(lambda: ctc_loss(x, labels, inputs, lengths, blank=0, zero_infinity=False, with_grad=True))


def check_pool2d() -> None:
    import cupy as cp
    from lucid_kernels.cuda.pooling import pool2d

    where = cp.full((1, 1, 2, 8), 99)
    reported(lambda: pool2d.max_pool2d_gather(cp.ones((1, 1, 3, 4)), where))
    reported(lambda: pool2d.max_pool2d_grad(cp.ones((1, 1, 2, 8)), where, input_shape=(1, 1, 3, 4)))


def check_rms_norm() -> None:
    import cupy as cp
    from lucid_kernels.cuda.normalization.rms_norm import rms_norm, rms_norm_grad
    from lucid_kernels.cuda.runtime import launch

    x = np.random.default_rng(0).standard_normal((12, 600))
    rstd = 1 / np.sqrt(np.mean(x * x, axis=1))
    with mock.patch.object(launch, "_BLOCKS_PER_SM", 1):  # so that a block takes three rows
        y, found = rms_norm(cp.asarray(x), None, normalized_ndim=1, eps=0.0)
        dx, _ = rms_norm_grad(cp.asarray(x), cp.asarray(x), None, found, normalized_ndim=1)
    np.testing.assert_allclose(found.get(), rstd, rtol=1e-12)
    np.testing.assert_allclose(y.get(), x * rstd[:, None], rtol=1e-12)
    np.testing.assert_allclose(dx.get(), 0, atol=1e-12)


_PLAIN = (r"atomicCAS\(flag, 0, code\) == 0", "*flag == 0 && (*flag = code)")
MUTATIONS = [
    *[
        Mutation(f"{family}.cu", "the first error without an atomic", *_PLAIN, check, inside="common.cuh")
        for family, check in (
            ("bounds", check_bounds),
            ("cross_entropy", check_cross_entropy),
            ("nll_loss", check_nll_loss),
            ("ctc_loss", check_ctc_loss),
            ("pool2d", check_pool2d),
        )
    ],
    Mutation("row_norm.cu", "the mean square of one element", r"squares \+= d", "squares = d", check_rms_norm),
]

EXEMPT = [
    # conv2d_grad_weight_direct, the only kernel of the family that calls block_reduce, calls it once, outside of its loop: no
    # thread has read `scratch` when the first one writes it, so the barrier before that write orders nothing.
    Exempt("conv2d.cu", "common.cuh", "__syncthreads();  // `scratch` may still be read", "the block's only reduction"),
    Exempt("label_sums.cu", "common.cuh", "__syncthreads();  // `scratch` may still be read", "the block's only reduction"),
    # It stands between products of registers, and keeps the compiler from mixing them.
    Exempt("flash_attention.cu", "attention_products.cuh", "__syncwarp();  // so that the rounds", "orders no access to memory"),
]
