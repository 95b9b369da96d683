"""What may be written to between an operation and its gradient: everything that may in PyTorch, but for what is listed here."""
from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
import lucid.nn.functional
from tests.ops.table import ROWS
from tests.ops.table.outcomes import flat, inputs_of, tensors
from tests.ops.table.row import Row

torch = pytest.importorskip("torch")
OURS, THEIRS = (lucid, lucid.nn.functional), (torch, torch.nn.functional)
#: Operations of PyTorch that save something they compute, a difference, a sum or a copy, where lucid saves the arguments: it has
#: one kernel for all, and no memory for that.
TEMPORARIES = {"div", "ldexp", "polar", "kron", "special.ndtr", "erfinv", "l1_loss", "hinge_embedding_loss", "poisson_nll_loss",
               "kl_div of logarithms", "rms_norm", "cosine_similarity"}


def uniform(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).uniform(0.1, 0.9, shape)


def classes(library: Any, *shape: int) -> Any:
    return library.zeros(*(shape or (4,)), dtype=library.int64)


# name -> (call(library, functional, *tensors), arrays); of each tensor the gradient is asked for.
Call = Callable[..., Any]
FUNCTIONS: dict[str, tuple[Call, tuple[np.ndarray, ...]]] = {
    "cross_entropy": (lambda t, F, x: F.cross_entropy(x, classes(t)), (uniform(4, 3),)),
    "cross_entropy none": (lambda t, F, x: F.cross_entropy(x, classes(t), reduction="none"), (uniform(4, 3),)),
    "cross_entropy of weights": (lambda t, F, x: F.cross_entropy(x, classes(t), x.detach()[0] * 0 + 1, label_smoothing=0.1),
                                 (uniform(4, 3),)),
    "cross_entropy of images": (lambda t, F, x: F.cross_entropy(x, classes(t, 2, 2, 2)), (uniform(2, 3, 2, 2),)),
    "cross_entropy of probabilities": (lambda t, F, x, y: F.cross_entropy(x, y), (uniform(4, 3), uniform(4, 3))),
    "nll_loss": (lambda t, F, x: F.nll_loss(x, classes(t)), (uniform(4, 3),)),
    "gaussian_nll_loss": (lambda t, F, x, y, v: F.gaussian_nll_loss(x, y, v), (uniform(4), uniform(4), uniform(4))),
    "triplet_margin_loss": (lambda t, F, x, y, z: F.triplet_margin_loss(x, y, z),
                            (uniform(4, 3), uniform(4, 3) + 1, uniform(4, 3) - 1)),
    "multi_margin_loss": (lambda t, F, x: F.multi_margin_loss(x, classes(t)), (uniform(4, 3),)),
    "kl_div": (lambda t, F, x, y: F.kl_div(x, y, reduction="sum"), (uniform(4), uniform(4))),
    "kl_div of logarithms": (lambda t, F, x, y: F.kl_div(x, y, reduction="sum", log_target=True), (uniform(4), uniform(4))),
    "ctc_loss": (lambda t, F, x: F.ctc_loss(x, t.tensor([[1, 2]]), t.tensor([4]), t.tensor([2])), (np.log(uniform(4, 1, 3)),)),
    "layer_norm": (lambda t, F, x, w, b: F.layer_norm(x, (4,), w, b), (uniform(4, 4), uniform(4), uniform(4))),
    "rms_norm": (lambda t, F, x, w: F.rms_norm(x, (4,), w), (uniform(4, 4), uniform(4))),
    "group_norm": (lambda t, F, x, w, b: F.group_norm(x, 2, w, b), (uniform(4, 4, 2), uniform(4), uniform(4))),
    "batch_norm": (lambda t, F, x, w, b: F.batch_norm(x, None, None, w, b, True), (uniform(4, 4), uniform(4), uniform(4))),
    "linear": (lambda t, F, x, w, b: F.linear(x, w, b), (uniform(4, 3), uniform(2, 3), uniform(2))),
    "bilinear": (lambda t, F, x, y, w, b: F.bilinear(x, y, w, b), (uniform(2, 3), uniform(2, 3), uniform(2, 3, 3), uniform(2))),
    "conv2d": (lambda t, F, x, w, b: F.conv2d(x, w, b), (uniform(2, 2, 5, 5), uniform(3, 2, 3, 3), uniform(3))),
    "conv_transpose2d": (lambda t, F, x, w, b: F.conv_transpose2d(x, w, b), (uniform(2, 2, 5, 5), uniform(2, 3, 3, 3), uniform(3))),
    "prelu": (lambda t, F, x, w: F.prelu(x, w), (uniform(4, 3), uniform(3))),
    "grid_sample": (lambda t, F, x, g: F.grid_sample(x, g, align_corners=False), (uniform(1, 2, 4, 4), uniform(1, 3, 3, 2))),
    "embedding": (lambda t, F, w: F.embedding(classes(t), w), (uniform(4, 3),)),
    "embedding_bag": (lambda t, F, w, s: F.embedding_bag(classes(t, 1, 4), w, per_sample_weights=s, mode="sum"),
                      (uniform(4, 3), uniform(1, 4))),
    "cosine_similarity": (lambda t, F, x, y: F.cosine_similarity(x, y), (uniform(2, 3), uniform(2, 3))),
    "scaled_dot_product_attention": (lambda t, F, q, k, v: F.scaled_dot_product_attention(q, k, v), (uniform(1, 1, 4, 4),) * 3),
    "lerp": (lambda t, F, x, y, w: t.lerp(x, y, w), (uniform(4), uniform(4), uniform(4))),
    "addcmul": (lambda t, F, x, y, z: t.addcmul(x, y, z), (uniform(4), uniform(4), uniform(4))),
    "addmm": (lambda t, F, x, y, z: t.addmm(x, y, z), (uniform(4, 4), uniform(4, 4), uniform(4, 4))),
    **{name: (lambda t, F, x, y, name=name: getattr(F, name)(x, y), (uniform(4, 3), uniform(4, 3) * 2)) for name in (
        "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "hinge_embedding_loss", "poisson_nll_loss",
        "binary_cross_entropy_with_logits")},
    **{name: (lambda t, F, x, name=name: getattr(F, name)(x, 2), (uniform(1, 2, 4, 4),)) for name in (
        "max_pool2d", "avg_pool2d", "adaptive_max_pool2d", "adaptive_avg_pool2d", "unfold")},
    **{name: (lambda t, F, x, y, name=name: getattr(t, name)(x, y), (uniform(4), uniform(4))) for name in (
        "hypot", "copysign", "remainder", "fmod", "atan2", "div", "maximum")},
}


def verdicts(library: Any, make: Callable[[], tuple[list[Any], list[Any], list[Any]]]) -> list[str]:
    """For each tensor that an operation was given, and each of its results, whether a gradient refuses that it was written to."""
    found: list[str] = []
    number = 0
    while True:
        leaves, given, results = make()
        touched = [*given, *results]
        if number == len(touched):
            return found
        roots = [result * 1 for result in results if result.requires_grad]
        try:
            with library.no_grad():
                touched[number].zero_()
        except Exception:  # an expanded one, as the case may be
            roots = []
        try:
            if roots:
                library.autograd.grad(roots, leaves, [library.ones_like(root) for root in roots], allow_unused=True)
            found.append("taken")
        except Exception as error:
            found.append("refused" if "modified by an inplace operation" in str(error) else "other")
        number += 1


def of_row(library: Any, row: Row) -> Callable[[], Any]:
    def make() -> tuple[list[Any], list[Any], list[Any]]:
        leaves = [t.requires_grad_(t.is_floating_point()) for t in tensors(library, inputs_of(row, "float64"), "float64")]
        given = [leaf * 1 if leaf.requires_grad else leaf.clone() for leaf in leaves]
        results = [t for t in flat(row.run(library, *given)) if isinstance(t, library.Tensor)]
        return [leaf for leaf in leaves if leaf.requires_grad], given, results

    return make


def of_function(libraries: tuple[Any, Any], name: str, needed: list[bool]) -> Callable[[], Any]:
    call, arrays = FUNCTIONS[name]

    def make() -> tuple[list[Any], list[Any], list[Any]]:
        leaves = [libraries[0].tensor(array).requires_grad_(need) for array, need in zip(arrays, needed, strict=True)]
        given = [leaf * 1 for leaf in leaves]
        return [leaf for leaf in leaves if leaf.requires_grad], given, [call(*libraries, *given)]

    return make


def known(row: Row) -> bool:
    try:
        operator.attrgetter(row.op)(torch)
    except AttributeError:
        return False
    return not row.random and row.smooth


# The first row of each operation.
OPERATIONS = list({row.op: row for row in reversed(ROWS) if known(row)}.values())


def refused_in_vain(mine: list[str], theirs: list[str]) -> bool:
    return any(a == "refused" and b == "taken" for a, b in zip(mine, theirs, strict=True))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", OPERATIONS, ids=lambda row: row.op)
def test_operations(row: Row) -> None:
    try:
        theirs = verdicts(torch, of_row(torch, row))
    except Exception:
        pytest.skip("not of float64 in PyTorch")
    mine = verdicts(lucid, of_row(lucid, row))
    assert row.op in TEMPORARIES or not refused_in_vain(mine, theirs), f"{mine}, PyTorch {theirs}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    """With gradients for all arguments, and for each alone."""
    count = len(FUNCTIONS[name][1])
    for needed in [[True] * count, *([number == other for other in range(count)] for number in range(count) if count > 1)]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                theirs = verdicts(torch, of_function(THEIRS, name, needed))
            except RuntimeError:
                continue
            mine = verdicts(lucid, of_function(OURS, name, needed))
        assert name in TEMPORARIES or not refused_in_vain(mine, theirs), f"{needed}: {mine}, PyTorch {theirs}"
