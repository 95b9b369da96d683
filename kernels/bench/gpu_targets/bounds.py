"""The most that the ratio to PyTorch should be on a GPU: eager on the same card, in the same run, with PyTorch's defaults."""

from __future__ import annotations

#: Of a compiled step, to PyTorch's step as one CUDA graph.
GRAPHED = 1.1
#: How the name of a case begins -> its bound, the first that fits.
BOUNDS: dict[str, float | None] = {
    "training step MLP": 0.8, "training step digits CNN": 0.85, "training step 28x28 CNN": 0.5,
    "training step ResNet-50": 1.25, "training step GPT-2": 1.15, "training step": 1.0,
    "conv ": 1.8,  # the worst of them
    "bfloat16 attention": 1.3, "attention": 1.0,
    "Adam 11.5M parameters, 62 tensors": 0.6,
    "20-op chain, 8 floats": 0.8, "20-op chain": None,
    "compiled step MLP 784": 0.12, "compiled step digits CNN": 0.15, "compiled step 28x28 CNN": 0.2,
    "compiled step ResNet-18": 0.6, "compiled step GPT": 0.4, "compiled": None,
    "graphed step": GRAPHED,
}
OTHERS = 1.0
#: The geometric mean of the convolutions.
CONVOLUTIONS = 1.2
#: The share of a copy's bandwidth that kernels should reach which move so many bytes.
SHARE, FROM_BYTES = 0.85, 64 * 1024 * 1024


def gpu_bound(name: str) -> float | None:
    """The bound of a case; None for one that is only shown."""
    return next((bound for start, bound in BOUNDS.items() if name.startswith(start)), OTHERS)
