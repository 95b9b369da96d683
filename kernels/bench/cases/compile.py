"""`lucid.compile` against PyTorch as it runs eagerly: training steps, and inference of single samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bench.case import Case, Side
from bench.library import Library, target
from bench.networks.network import Network, labels, numbers
from bench.networks.sequences import SEQUENCES
from bench.targets.models import MODELS
from bench.targets.training import training_step


def deep(library: Library) -> Any:
    """Ten layers of width 32."""
    nn = library.nn
    layers = [layer for _ in range(9) for layer in (nn.Linear(32, 32), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(32, 10))


def perceptron(library: Library) -> Any:
    """Four layers."""
    nn = library.nn
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(),
                         nn.Linear(128, 10))


def lenet(library: Library) -> Any:
    """LeNet-5 for images of 28x28."""
    nn = library.nn
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                         nn.Linear(84, 10))


DEEP = Network(deep, numbers(8, 32), labels(10, 8))
STEPS: dict[str, tuple[Any, float | None]] = {
    "MLP 784-256-10, batch 64": (MODELS["MLP 784-256-10, batch 64"], 0.3),
    "digits CNN, batch 64": (MODELS["digits CNN, batch 64"], 0.4),
    "28x28 CNN, batch 64": (MODELS["28x28 CNN, batch 64"], 0.42),
    "LSTM classifier": (SEQUENCES["LSTM classifier"], 0.7),
    "MLP of 10 layers of 32, batch 8": (DEEP, 0.15),
    "GPT 4x256, context 128, batch 8": (MODELS["GPT 4x256, context 128, batch 8"], None),
    "ResNet-18 CIFAR, batch 64": (MODELS["ResNet-18 CIFAR, batch 64"], None),
}
SAMPLES = {"LeNet": Network(lenet, numbers(1, 1, 28, 28), labels(10, 1)),
           "MLP of 4 layers": Network(perceptron, numbers(1, 64), labels(10, 1))}
QUICK = ("MLP of 10 layers of 32, batch 8",)


def cases(side: Side) -> Iterator[Case]:
    """Small networks, for which calls take longer than kernels, and two large ones."""
    for name, (network, goal) in STEPS.items():
        if not side.quick or name in QUICK:
            yield target(side, f"compiled step {name}", goal, lambda library, network=network: _step(library, network))
    for name, network in SAMPLES.items():
        yield target(side, f"compiled inference {name}, one sample", 0.2,
                     lambda library, network=network: _inference(library, network))


def _compiled(library: Library, function: Callable[[], Any]) -> Callable[[], Any]:
    """PyTorch's function as it is, and ours compiled, with its plan made."""
    if library.is_torch:
        return function
    call: Callable[[], Any] = library.lib.compile(function, fullgraph=True)
    for _ in range(4):
        call()
    return call


def _step(library: Library, network: Any) -> Callable[[], Any]:
    return _compiled(library, training_step(library, network))


def _inference(library: Library, network: Network) -> Callable[[], Any]:
    library.lib.manual_seed(0)
    module = network.build(library).eval()
    sample = library.tensor(network.data()[0])

    def infer() -> Any:
        with library.lib.no_grad():
            return module(sample)

    return _compiled(library, infer)
