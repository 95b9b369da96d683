"""Function transforms against `torch.func`: vmapped linear layers, gradients of each example of a CNN, and a Hessian."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.case import Case, Side, normal
from bench.library import Library, target


def cases(side: Side) -> Iterator[Case]:
    """On a CPU all are to take no longer than PyTorch's."""
    for models, batch, features in ((4, 8, 16),) if side.quick else ((8, 32, 128), (16, 256, 256)):
        yield _linear(side, models, batch, features)
    for samples, length in ((4, 12),) if side.quick else ((32, 28), (64, 28)):
        yield _per_sample(side, samples, length)
    yield _hessian(side, 8 if side.quick else 32)


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
