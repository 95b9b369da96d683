"""Windows, the short-time Fourier transform and its inverse, beside PyTorch's."""
from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import lucid
from lucid.autograd import gradcheck, gradgradcheck
from tests.ops.table.agreement import agree

RANDOM = np.random.default_rng(0)
SIGNAL, WINDOW = RANDOM.standard_normal((2, 30)), RANDOM.uniform(0.5, 1, 8)
WINDOWS = ["hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"]
FORMS = [(8, None, None), (8, 3, 6), (7, 2, 5)]


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name, device):
    for length, periodic in itertools.product((0, 1, 2, 5, 8), (True, False)):
        agree(lambda lib, n=length, p=periodic: getattr(lib, name)(n, periodic=p, dtype=lib.float64), rtol=1e-9)
    window = getattr(lucid, name)(5, device=device, requires_grad=True)
    assert window.device == device and window.dtype == lucid.float32 and window.is_leaf and window.requires_grad
    with pytest.raises(RuntimeError, match="non-negative"):
        getattr(lucid, name)(-1)
    with pytest.raises(RuntimeError, match="floating point"):
        getattr(lucid, name)(3, dtype=lucid.int32)
    with pytest.raises(TypeError):
        getattr(lucid, name)(3.0)


def test_parameters_of_windows():
    agree(lambda lib: (lib.hamming_window(5, True, 0.6, 0.4, dtype=lib.float64), lib.kaiser_window(5, False, 3.0, dtype=lib.float64)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("complex_input", [False, True])
def test_stft(form, complex_input, device):
    n_fft, hop, width = form
    data = SIGNAL + 1j * SIGNAL[:, ::-1] if complex_input else SIGNAL
    for center, normalized, onesided, align in itertools.product((True, False), (True, False), (None, False, True), (None, True)):
        def run(lib: Any, x: Any, w: Any, at: Any = (center, normalized, onesided, align)) -> Any:
            return lib.stft(x, n_fft, hop, width, w, at[0], normalized=at[1], onesided=at[2], return_complex=True,
                            align_to_window=at[3])

        agree(run, data, WINDOW[:width or n_fft], device=device, grad=False)
    agree(lambda lib, x: lib.stft(x[0], 8, window=lib.ones(8, dtype=lib.float64, device=x.device), pad_mode="constant",
                                  return_complex=True), data, device=device, grad=False)


@pytest.mark.parametrize("form", FORMS)
def test_istft(form, device):
    n_fft, hop, width = form
    signals = (SIGNAL, SIGNAL[0], SIGNAL + 1j)
    for data, center, length, whole in itertools.product(signals, (True, False), (None, 25, 40), (True, False)):
        def run(lib: Any, x: Any, w: Any, at: Any = (center, length, whole)) -> Any:
            spectrum = lib.stft(x, n_fft, hop, width, w, at[0], return_complex=True)
            return lib.istft(spectrum, n_fft, hop, width, w, at[0], length=at[1], return_complex=at[2])

        agree(run, data, WINDOW[:width or n_fft], device=device, grad=False)


def test_the_inverse_gives_the_signal_back(device):
    x, window = lucid.tensor(SIGNAL, device=device), lucid.hann_window(8, dtype=lucid.float64, device=device)
    for normalized in (True, False):
        spectrum = lucid.stft(x, 8, window=window, normalized=normalized, return_complex=True)
        back = lucid.istft(spectrum, 8, window=window, normalized=normalized, length=30)
        np.testing.assert_allclose(back.cpu().numpy(), SIGNAL, atol=1e-12)


def test_gradients(device):
    x = lucid.tensor(SIGNAL[:, :16], device=device, requires_grad=True)
    window = lucid.tensor(WINDOW, device=device, requires_grad=True)

    def there_and_back(x: Any, w: Any) -> Any:
        return lucid.istft(lucid.stft(x, 8, 3, window=w, return_complex=True), 8, 3, window=w)

    for function in (lambda x, w: lucid.stft(x, 8, window=w, return_complex=True), there_and_back):
        assert gradcheck(function, (x, window), fast_mode=True) and gradgradcheck(function, (x, window), fast_mode=True)
    agree(lambda lib, x, w: lib.view_as_real(lib.stft(x, 8, window=w, return_complex=True)), SIGNAL, WINDOW, device=device)


def test_warnings_and_errors(device):
    x = lucid.tensor(SIGNAL[0], device=device)
    with pytest.warns(UserWarning, match="A window was not provided"):
        lucid.stft(x, 8, return_complex=True)
    window = lucid.tensor(WINDOW, device=device)
    with pytest.warns(UserWarning, match="return_complex=False is deprecated"):
        assert lucid.stft(x, 8, window=window, return_complex=False).shape == (5, 16, 2)
    keywords = {"window": window, "return_complex": True}
    spectrum = lucid.stft(x, 8, **keywords)
    for call in (lambda: lucid.stft(x, 8, window=window), lambda: lucid.stft(x, 8, 0, **keywords),
                 lambda: lucid.stft(x, 8, 2, 9, **keywords),
                 lambda: lucid.stft(x, 0, **keywords), lambda: lucid.stft(x[:3], 8, **keywords),
                 lambda: lucid.stft(x.int(), 8, **keywords),
                 lambda: lucid.stft(x, 8, align_to_window=True, **keywords), lambda: lucid.stft(x + 1j, 8, window, onesided=True),
                 lambda: lucid.istft(x, 8, window=window), lambda: lucid.istft(spectrum, 9, window=window),
                 lambda: lucid.istft(spectrum, 8, 9, window=window), lambda: lucid.istft(spectrum[:, :0], 8, window=window),
                 lambda: lucid.istft(spectrum, 8, window=window[:4]), lambda: lucid.istft(spectrum, 8, window=window * 0),
                 lambda: lucid.istft(spectrum, 8, window=window, return_complex=True)):
        with pytest.raises(RuntimeError):
            call()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(lambda lib, x: lib.istft(lib.stft(x, 8, return_complex=True), 8), SIGNAL, device=device)
    assert lucid.stft(x.to("meta"), 8, window=window.to("meta"), return_complex=True).shape == (5, 16)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_windows_that_a_kernel_transforms(batch, dtype):
    """Of the signal and of the window, first and second gradients too."""
    torch = pytest.importorskip("torch")
    data, shape, found = RANDOM.standard_normal((*batch, 200)).astype(dtype), RANDOM.uniform(0.5, 1, 64).astype(dtype), []
    for lib in (lucid, torch):
        x, window = lib.tensor(data, requires_grad=True), lib.tensor(shape, requires_grad=True)
        y = lib.stft(x, 64, 20, window=window, return_complex=True, normalized=True)
        size = y.abs()
        first = lib.autograd.grad((size * size * size).sum(), (x, window), create_graph=True)
        second = lib.autograd.grad(sum((g * g).sum() for g in first), (x, window))
        back = lib.istft(y, 64, 20, window=window, normalized=True)
        found.append([each.detach().resolve_conj().numpy() for each in (y, back, *first, *second)])
    for ours, theirs in zip(*found, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=2e-4 if dtype == "f4" else 1e-10, atol=1e-5 * np.abs(theirs).max())


def test_precision_of_windows():
    assert lucid.stft(lucid.ones(100), 64, window=lucid.ones(64, dtype=lucid.float64), return_complex=True).dtype == lucid.complex128
    with pytest.raises(RuntimeError, match="Unsupported dtype"):
        lucid.stft(lucid.ones(100).half(), 64, window=lucid.ones(64).half(), return_complex=True)
