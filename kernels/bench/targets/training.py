"""Training steps of whole networks: forward, cross entropy, backward, Adam. PyTorch has its fused Adam and faster layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bench.case import Case, Side
from bench.library import Calls, Library, target
from bench.targets.models import MODELS, Model

LARGE = ("ResNet-18", "GPT")  # left out of quick runs


def cases(side: Side) -> Iterator[Case]:
    """From a small perceptron to ResNet-18 and a GPT."""
    for name, model in MODELS.items():
        if not (side.quick and name.startswith(LARGE)):
            yield case(side, name, model)


def case(side: Side, name: str, model: Model) -> Case:
    """The training step of a model."""
    def build(library: Library) -> Calls:
        if model.channels_last:
            return training_step(library, model, "channels_last")
        layouts = library.layouts() if len(model.image) == 3 else ("NCHW",)
        return {layout: training_step(library, model, layout) for layout in layouts}

    arithmetic = model.dtype if model.dtype != "float32" else "tf32" if model.image[1:] else "float32"
    return target(side, f"training step {name}", model.target, build, needs=model.needs, flops=model.flops,
                  arithmetic=arithmetic)


def training_step(library: Library, model: Any, layout: str = "NCHW", **options: Any) -> Callable[[], Any]:
    """A call that takes one step of a `Model`, or of what has its `build`, `data` and `criterion`, and returns the loss.
    `options` are further ones of the optimizer.
    """
    library.lib.manual_seed(0)
    dtype = getattr(library.lib, getattr(model, "dtype", "float32"))
    network = library.in_layout(model.build(library).to(library.device, dtype), layout)
    values, labels = model.data()
    inputs, goal = library.tensor(values), library.tensor(labels)
    inputs = library.in_layout(inputs.to(dtype) if inputs.is_floating_point() else inputs, layout)
    criterion = getattr(library.nn, model.criterion)()
    optimizer = library.optim.Adam(network.parameters(), lr=1e-4, fused=True, **options)

    def step() -> Any:
        optimizer.zero_grad()
        loss = criterion(network(inputs), goal)
        loss.backward()
        optimizer.step()
        return loss

    return step
