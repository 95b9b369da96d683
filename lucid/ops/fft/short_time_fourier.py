"""The short-time Fourier transform and its inverse (Allen, "Short term spectral analysis, synthesis, and modification by discrete
Fourier transform", 1977; Griffin and Lim, "Signal estimation from modified short-time Fourier transform", 1984).
"""
from __future__ import annotations

import warnings

from ... import _dtypes
from ..._namespace.callers import stacklevel
from ...tensor import Tensor
from .._methods import register
from .._operands import numbers, require_tensor
from ..creation.creation import ones
from ..manipulation.complex import view_as_real
from ..manipulation.padding import pad
from ..manipulation.strides import overlap_add
from .fft import fft, ifft, irfft, rfft_of_windows

METHODS = ("stft", "istft")


def _require(condition: bool, name: str, what: str) -> None:
    if not condition:
        raise RuntimeError(f"{name}: {what}")


def _full_window(name: str, window: Tensor | None, n_fft: int, win_length: int, like: Tensor) -> Tensor:
    """The window, of ones without `window`, in the middle of `n_fft` elements."""
    if window is None:
        if n_fft > 1:
            warnings.warn(f"A window was not provided to {name}: a rectangular one is used, which leaks between frequencies. "
                          "Give the one that the inverse uses too, such as hann_window; ones if it should be rectangular.",
                          stacklevel=stacklevel())
        real = view_as_real(like).dtype if like.is_complex() else like.dtype
        window = ones(win_length, dtype=real, device=like.device)
    left = (n_fft - win_length) // 2
    return pad(window, (left, n_fft - win_length - left)) if win_length < n_fft else window


def _check_window(name: str, window: Tensor | None, win_length: int) -> None:
    if window is not None:
        _require(window.ndim == 1 and window._array.shape[0] == win_length, name,
                 f"expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
                 f"{list(window.shape)}")


def stft(input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
         center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
         return_complex: bool | None = None, align_to_window: bool | None = None) -> Tensor:
    """The Fourier transforms of windows of a signal: ``(time,)`` or ``(batch, time)`` gives ``([batch,] frequency, frame)``.

    Frames of `n_fft` samples, `hop_length` (a quarter of that) apart, are multiplied by `window`, which has `win_length`
    numbers (`n_fft`) and is put in the middle of the frame. With `center` frame t lies around sample ``t hop_length`` of the
    signal, extended at its ends by `pad_mode`; without, `align_to_window` begins with the window instead of the frame
    at the first sample. `normalized` divides by the root of `n_fft`. `onesided` (for real numbers) gives the first
    ``n_fft // 2 + 1`` frequencies. Without `return_complex` the result is real, with a last dimension of 2 (deprecated).

    Raises RuntimeError for lengths that do not fit, real input without `return_complex`, and one-sided spectra of complex
    numbers.

    >>> x = lucid.sin(lucid.arange(32.0))
    >>> lucid.stft(x, n_fft=8, return_complex=True).shape  # frequencies, frames
    lucid.Size([5, 17])
    """
    require_tensor("stft", input)
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    complex_given = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not complex_given:
            raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further require "
                               "that return_complex=True in a future PyTorch release.")
        return_complex = True
    elif not return_complex:
        warnings.warn("stft with return_complex=False is deprecated: use return_complex=True and view_as_real.",
                      stacklevel=stacklevel())
    if align_to_window is not None and center:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if input.dtype == _dtypes.bool_:
        raise NotImplementedError("stft: not implemented for 'Bool'")
    _require(_dtypes.is_differentiable(input.dtype), "stft", "expected a tensor of floating point or complex values")
    _require(input.ndim in (1, 2), "stft", "expected a 1D or 2D tensor")
    signal = input if input.ndim == 2 else input.unsqueeze(0)
    if center:
        signal = pad(signal.unsqueeze(0), (n_fft // 2, n_fft // 2), pad_mode).squeeze(0)
    length = signal._array.shape[1]
    _require(0 < n_fft <= length, "stft", f"expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    _require(hop > 0, "stft", f"expected hop_length > 0, but got hop_length={hop}")
    _require(0 < width <= n_fft, "stft", f"expected 0 < win_length <= n_fft, but got win_length={width}")
    _check_window("stft", window, width)
    shape = _full_window("stft", window, n_fft, width, input)
    if align_to_window:
        left = (n_fft - width) // 2
        signal = pad(signal, (left, n_fft - width - left))
    if onesided is None:
        onesided = not complex_given
    _require(not (onesided and complex_given), "stft", "Cannot have onesided output if window or input is complex")
    norm = "ortho" if normalized else "backward"
    if onesided:
        spectrum = rfft_of_windows(signal, shape, hop, norm)
    else:
        spectrum = fft(signal.unfold(1, n_fft, hop) * shape, norm=norm)
    spectrum = spectrum.transpose(1, 2)
    spectrum = spectrum if input.ndim == 2 else spectrum.squeeze(0)
    return spectrum if return_complex else view_as_real(spectrum)


def istft(input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
          center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
          return_complex: bool = False) -> Tensor:
    """The signal whose `stft` is nearest to `input`, ``([batch,] frequency, frame)``, in the sense of least squares.

    The arguments are those of `stft`. The signal has `length` samples, filled up with zeros, or as many as the frames cover,
    without `center`'s extension. `return_complex` gives complex numbers, of two-sided spectra only. Raises RuntimeError for
    real and empty tensors, lengths that do not fit, and windows that leave samples uncovered.

    >>> window = lucid.hann_window(8)
    >>> x = lucid.sin(lucid.arange(32.0))
    >>> spectrum = lucid.stft(x, 8, window=window, return_complex=True)
    >>> lucid.allclose(lucid.istft(spectrum, 8, window=window), x, atol=1e-5)
    True
    """
    if not require_tensor("istft", input).is_complex():
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with return_complex=True.")
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    _require(input.numel() > 0, "istft", "input tensor cannot be empty.")
    _require(input.ndim in (2, 3), "istft", f"expected a tensor with 2 or 3 dimensions, but got {input.ndim}")
    spectrum = input if input.ndim == 3 else input.unsqueeze(0)
    frequencies, count = spectrum._array.shape[1:]
    if onesided is None:
        onesided = frequencies != n_fft
    expected = n_fft // 2 + 1 if onesided else n_fft
    _require(frequencies == expected, "istft", f"expected the frequency dimension to have {expected} elements, but it has "
             f"{frequencies}")
    _require(0 < width <= n_fft, "istft", "expected 0 < win_length <= n_fft")
    _require(0 < hop <= width, "istft", "expected 0 < hop_length <= win_length")
    _check_window("istft", window, width)
    complex_window = window is not None and window.is_complex()
    _require(return_complex or not complex_window, "istft", "Complex windows are incompatible with return_complex=False")
    _require(not (return_complex and onesided), "istft", "Cannot have onesided output if window or input is complex")
    shape = _full_window("istft", window, n_fft, width, input)
    norm = "ortho" if normalized else None
    frames = spectrum.transpose(1, 2)
    if return_complex:
        frames = ifft(frames, norm=norm)
    else:
        frames = irfft(frames if onesided else frames.narrow(2, 0, n_fft // 2 + 1), n_fft, norm=norm)
    start = n_fft // 2 if center else 0
    covered = n_fft + hop * (count - 1)
    end = covered - (n_fft // 2 if center else 0) if length is None else start + length
    _require(end > start, "istft", f"expected a length of at least 1, but got {end - start}")
    envelope = overlap_add(shape.square().reshape(1, 1, n_fft).expand(1, count, n_fft), covered, hop)
    signal = overlap_add(frames * shape, covered, hop)
    signal, envelope = (t.narrow(1, start, min(end, covered) - start) for t in (signal, envelope))
    if not envelope.is_meta:
        lowest = min(numbers(envelope.detach().abs().min()))
        _require(lowest > 1e-11, "istft", f"window overlap add min: {lowest}: samples that no window covers")
    signal = signal / envelope
    if end > covered:
        warnings.warn("The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
                      "Please check your center and hop_length settings.", stacklevel=stacklevel())
        signal = pad(signal, (0, end - covered))
    return signal if input.ndim == 3 else signal.squeeze(0)


register(__name__)
