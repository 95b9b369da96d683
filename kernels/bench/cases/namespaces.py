"""What scripts use around the operations, from the same user code on both sides: function transforms (vmapped linear layers,
gradients of each example of a CNN, a Hessian), products with sparse tensors, and a step whose activations are computed again.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.library import Library, target


def cases(side: Side) -> Iterator[Case]:
    """On a CPU transforms are to take no longer than PyTorch's, large sparse products 1.2 and the checkpointed step 1.1 of it."""
    for models, batch, features in ((4, 8, 16),) if side.quick else ((8, 32, 128), (16, 256, 256)):
        yield _linear(side, models, batch, features)
    for samples, length in ((4, 12),) if side.quick else ((32, 28), (64, 28)):
        yield _per_sample(side, samples, length)
    yield _hessian(side, 8 if side.quick else 32)
    for rows, width, kept, bound in ((500, 8, 2_000, None),) if side.quick else ((2_000, 64, 40_000, 1.2), (200, 8, 1_000, None)):
        for layout in ("coo", "csr"):
            for grad in (False, True):
                yield _product(side, layout, (rows, width, kept), grad, bound)
    for checkpointed in (True, False):
        yield _step(side, 64 if side.quick else 256, checkpointed)


def _func(library: Library) -> Any:
    return importlib.import_module(f"{library.lib.__name__}.func")


def _linear(side: Side, models: int, batch: int, features: int) -> Case:
    """An ensemble of linear layers, each on its own input."""
    x, weight = normal(models, batch, features), normal(models, features, features, seed=1)
    bias = normal(models, features, seed=2)

    def build(library: Library) -> Callable[[], Any]:
        call = _func(library).vmap(library.F.linear)
        tensors = [library.tensor(values) for values in (x, weight, bias)]
        return lambda: call(*tensors)

    exact = {"exact": lambda: x.astype(np.float64) @ weight.astype(np.float64).swapaxes(1, 2) + bias[:, None]}
    return target(side, f"{models} linear layers of {batch}x{features}", 1.0, build, bytes=2 * x.nbytes + weight.nbytes, **exact)


def _per_sample(side: Side, samples: int, length: int) -> Case:
    """The gradients of a network of two convolutions for each example, as for differentially private training."""
    images, labels = normal(samples, 1, length, length), np.arange(samples) % 10
    inner = (length // 2 - 2) // 2

    def build(library: Library) -> Callable[[], Any]:
        nn, func = library.nn, _func(library)
        network = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(),
                                nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * inner * inner, 10)).to(library.device)
        state = {name: parameter.detach() for name, parameter in network.named_parameters()}

        def loss(state: Any, image: Any, label: Any) -> Any:
            return library.F.cross_entropy(func.functional_call(network, state, (image.unsqueeze(0),)), label.unsqueeze(0))

        call = func.vmap(func.grad(loss), in_dims=(None, 0, 0))
        x, y = library.tensor(images), library.tensor(labels)
        return lambda: call(state, x, y)

    return target(side, f"gradients of {samples} examples of a CNN on {length}x{length}", 1.0, build, bytes=images.nbytes)


def _hessian(side: Side, features: int) -> Case:
    """Of a small network: forward mode over reverse mode."""
    start, weight = normal(features), normal(features, features, seed=1)

    def build(library: Library) -> Callable[[], Any]:
        w = library.tensor(weight)
        call = _func(library).hessian(lambda x: library.lib.tanh(w @ x).sum())
        x = library.tensor(start)
        return lambda: call(x)

    return target(side, f"Hessian of {features} numbers", None, build, bytes=weight.nbytes)


def _product(side: Side, layout: str, sizes: tuple[int, int, int], grad: bool, bound: float | None) -> Case:
    """A coalesced matrix by a dense one, as a network of a graph has it; with `grad` the gradient of that one too."""
    rows, width, kept = sizes
    places = np.unique(np.random.default_rng(0).integers(0, rows * rows, kept))
    values, dense = normal(len(places)), normal(rows, width, seed=1)

    def build(library: Library) -> Callable[[], Any]:
        lib = library.lib
        indices = library.tensor(np.stack([places // rows, places % rows]))
        matrix = lib.sparse_coo_tensor(indices, library.tensor(values), (rows, rows)).coalesce()
        if layout == "csr":
            matrix = matrix.to_sparse_csr()
        x, g = library.tensor(dense, grad=grad), library.tensor(np.ones_like(dense))

        def step() -> Any:
            x.grad = None
            (matrix @ x).backward(g)
            return x.grad

        return step if grad else lambda: matrix @ x

    def exact() -> np.ndarray:
        total = np.zeros((rows, width))
        if grad:
            np.add.at(total, places % rows, np.broadcast_to(values.astype("f8")[:, None], (len(places), width)))
        else:
            np.add.at(total, places // rows, values.astype("f8")[:, None] * dense[places % rows])
        return total

    what = "product and gradient" if grad else "product"
    return target(side, f"{layout} {what} {rows}x{rows}, {kept} kept, by {width}", bound, build,
                  bytes=values.nbytes + 2 * dense.nbytes, exact=exact)


def _step(side: Side, features: int, checkpointed: bool) -> Case:
    """Four blocks of a perceptron whose inner activations are not kept, but computed again; or the same step that keeps them."""
    start = normal(128, features)

    def build(library: Library) -> Callable[[], Any]:
        nn, lib = library.nn, library.lib
        checkpoint = importlib.import_module(f"{lib.__name__}.utils.checkpoint").checkpoint
        lib.manual_seed(0)
        blocks = nn.ModuleList([nn.Sequential(nn.Linear(features, 4 * features), nn.GELU(), nn.Linear(4 * features, features))
                                for _ in range(4)])
        x = library.tensor(start, grad=True)

        def step() -> Any:
            y = x
            for block in blocks:
                y = y + (checkpoint(block, y, use_reentrant=False) if checkpointed else block(y))
            blocks.zero_grad()
            y.sum().backward()

        return step

    what = "checkpointed step" if checkpointed else "the same step without checkpoints"
    return target(side, f"{what}, 4 blocks of {features}", 1.1 if checkpointed else None, build, bytes=16 * start.nbytes)
