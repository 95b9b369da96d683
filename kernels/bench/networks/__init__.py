"""Training steps of networks of many kinds, and inference of single samples with some: of the whole library, on both devices.

Rows without targets. PyTorch has its fused Adam and, for images, its faster layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bench.case import Case, Side
from bench.library import Calls, Library, target
from bench.networks.images import IMAGES
from bench.networks.network import Network
from bench.networks.others import OTHERS
from bench.networks.sequences import SEQUENCES
from bench.targets.training import training_step

NETWORKS = {**SEQUENCES, **IMAGES, **OTHERS}
INFERENCE = ("character LSTM", "Llama", "ViT", "U-Net", "MobileNetV2 blocks")
QUICK = ("tabular embeddings",)


def cases(side: Side) -> Iterator[Case]:
    """Networks in the sizes of tutorials and small experiments."""
    for name in QUICK if side.quick else NETWORKS:
        yield _case(side, f"step {name}", NETWORKS[name], training_step)
    for name in QUICK if side.quick else INFERENCE:
        yield _case(side, f"inference {name}, one sample", NETWORKS[name], _inference)


def _case(side: Side, name: str, network: Network, calls_of: Callable[..., Callable[[], Any]]) -> Case:
    def build(library: Library) -> Calls:
        layouts = library.layouts() if network.of_images else ("NCHW",)
        return {layout: calls_of(library, network, layout) for layout in layouts}

    return target(side, name, None, build)


def _inference(library: Library, network: Network, layout: str = "NCHW") -> Callable[[], Any]:
    library.lib.manual_seed(0)
    module = library.in_layout(network.build(library).to(library.device), layout).eval()
    sample = library.in_layout(library.tensor(network.data()[0][:1]), layout)

    def infer() -> Any:
        with library.lib.no_grad():
            return module(sample)

    return infer
