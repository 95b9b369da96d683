"""Signals, by the names of torch.signal.

`windows`: windows for Fourier transforms.

>>> lucid.signal.windows.cosine(3)
Tensor([0.5, 1.0, 0.5], requires_grad=False)
"""
from . import windows

__all__ = ["windows"]
