"""Discrete Fourier transforms, under the names of `torch.fft` (https://docs.pytorch.org/docs/2.13/fft.html).

>>> lucid.fft.rfft(lucid.tensor([1.0, 0.0, -1.0, 0.0])).abs()
Tensor([0.0, 2.0, 0.0], requires_grad=False)
"""
from ._namespace.builtins import publish
from .ops.fft.fft import (
           fft,
           fft2,
           fftn,
           hfft,
           hfft2,
           hfftn,
           ifft,
           ifft2,
           ifftn,
           ihfft,
           ihfft2,
           ihfftn,
           irfft,
           irfft2,
           irfftn,
           rfft,
           rfft2,
           rfftn,
)
from .ops.fft.fft_frequencies import fftfreq, fftshift, ifftshift, rfftfreq

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft",
           "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]

publish(globals(), __all__)
