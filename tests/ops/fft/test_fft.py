"""Fourier transforms: values, dtypes and errors against PyTorch, gradients by finite differences."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
from tests.ops.table.derivatives import check_derivatives

RANDOM = np.random.default_rng(0)
LINES = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
PLANES = [f"{name}2" for name in LINES]
SPACES = [f"{name}n" for name in LINES]
NORMS = [None, "backward", "ortho", "forward"]


def signal(name: str, shape: tuple[int, ...], dtype: str = "f8") -> np.ndarray:
    """Random numbers, complex ones where `name` takes them."""
    real = RANDOM.standard_normal(shape)
    if name.startswith(("r", "ihfft")):
        return real.astype(dtype)
    return (real + 1j * RANDOM.standard_normal(shape)).astype({"f8": "c16", "f4": "c8"}[dtype])


def compare(name: str, array: np.ndarray, device: str, *args: Any, rtol: float = 1e-11, **keywords: Any) -> None:
    torch = pytest.importorskip("torch")
    ours = getattr(lucid.fft, name)(lucid.tensor(array, device=device), *args, **keywords)
    theirs = getattr(torch.fft, name)(torch.tensor(array), *args, **keywords).resolve_conj().numpy()
    assert (ours.dtype, tuple(ours.shape), ours.device) == (theirs.dtype, theirs.shape, device)
    np.testing.assert_allclose(ours.cpu().numpy(), theirs, rtol=rtol, atol=rtol)


@pytest.mark.torch
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", LINES)
def test_one_dimension(name: str, norm: str | None, device: str) -> None:
    for n in (None, 3, 4, 7, 8):
        compare(name, signal(name, (2, 5)), device, n, norm=norm)
    compare(name, signal(name, (5, 3)), device, dim=0, norm=norm)
    compare(name, signal(name, (4,)), device, 4, 0, norm)


@pytest.mark.torch
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", PLANES)
def test_two_dimensions(name: str, norm: str | None, device: str) -> None:
    for s in (None, (3, 4), (4, 7), (-1, 5)):
        compare(name, signal(name, (2, 4, 5)), device, s, norm=norm)
    compare(name, signal(name, (4, 3, 5)), device, dim=(2, 0), norm=norm)


@pytest.mark.torch
@pytest.mark.parametrize("norm", [None, "ortho"])
@pytest.mark.parametrize("name", SPACES)
def test_any_number_of_dimensions(name: str, norm: str | None, device: str) -> None:
    compare(name, signal(name, (2, 4, 5)), device, norm=norm)
    compare(name, signal(name, (2, 4, 5)), device, (3, 6), norm=norm)
    compare(name, signal(name, (2, 4, 5)), device, (3, 3, 7), (1, 2, 0), norm)
    compare(name, signal(name, (2, 4, 5)), device, 4, norm=norm)
    compare(name, signal(name, (2, 4, 5)), device, dim=1, norm=norm)


@pytest.mark.torch
@pytest.mark.parametrize("name", [*LINES, *PLANES, *SPACES])
def test_single_precision_stays(name: str, device: str) -> None:
    compare(name, signal(name, (4, 6), "f4"), device, rtol=1e-4)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["i4", "?", "f4", "f8"])
@pytest.mark.parametrize("name", LINES)
def test_integers_and_real_numbers(name: str, dtype: str, device: str) -> None:
    compare(name, np.arange(6).astype(dtype), device, rtol=1e-5)


@pytest.mark.parametrize("name", [*LINES, *PLANES, *SPACES])
def test_derivatives(name: str, device: str) -> None:
    function = getattr(lucid.fft, name)
    for size in (4, 5):
        if name.endswith("fft"):
            check_derivatives(lambda x, n=size: function(x, n, norm="ortho"), device, signal(name, (2, 4)))
        else:
            check_derivatives(lambda x, n=size: function(x, (3, n), (0, 1)), device, signal(name, (2, 4)))


@pytest.mark.parametrize("name", LINES)
def test_gradients_match_pytorch(name: str, device: str) -> None:
    torch = pytest.importorskip("torch")
    array = signal(name, (3, 4))
    ours, theirs = lucid.tensor(array, device=device, requires_grad=True), torch.tensor(array, requires_grad=True)
    for lib, x in ((lucid, ours), (torch, theirs)):
        y = getattr(lib.fft, name)(x)
        ((y * y).real if y.is_complex() else y * y).sum().backward()
    np.testing.assert_allclose(ours.grad.cpu().numpy(), theirs.grad.resolve_conj().numpy(), rtol=1e-10, atol=1e-10)


def test_an_expanded_gradient_passes_the_parts_of_complex_numbers(device: str) -> None:
    x = lucid.ones(2, 3, device=device, requires_grad=True)
    lucid.view_as_real(lucid.fft.fft(x)).sum().backward()
    np.testing.assert_allclose(x.grad.cpu().numpy(), [[3, 0, 0]] * 2, atol=1e-6)


def test_not_contiguous_and_empty_batches(device: str) -> None:
    x = lucid.tensor(RANDOM.standard_normal((6, 4)), device=device)
    np.testing.assert_allclose(lucid.fft.rfft(x.mT[:, ::2]).cpu().numpy(), np.fft.rfft(x.cpu().numpy().T[:, ::2]), rtol=1e-12)
    assert lucid.fft.fft(lucid.zeros(0, 4, device=device)).shape == (0, 4)
    assert lucid.fft.rfft2(lucid.zeros(0, 3, 4, device=device)).shape == (0, 3, 3)
    assert lucid.fft.irfft(lucid.zeros(0, 3, device=device)).shape == (0, 4)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "fftn", "rfftn", "fft2"])
def test_large_transforms_that_threads_share(name: str) -> None:
    """Cut along a dimension that is not transformed, or one dimension after the other where there is none."""
    given = np.random.default_rng(0).standard_normal((3, 300, 160)).astype(np.float32)
    for x in (given, given[0, :, :, None] * given[0, 0, :3]):
        x = x.reshape(-1, 160) if name == "rfftn" else x
        found = getattr(lucid.fft, name)(lucid.tensor(x))
        expected = getattr(np.fft, name)(x.astype(np.float64))
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


@pytest.mark.torch
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", LINES)
def test_lengths_that_kernels_transform(name: str, norm: str | None) -> None:
    """Also filled up and cut off, along the last dimension and another one."""
    for n in (None, 64, 128, 130):
        compare(name, signal(name, (8, 64)), "cpu", n, norm=norm)
        compare(name, signal(name, (3, 4, 100)), "cpu", n, norm=norm)
    compare(name, signal(name, (64, 3)), "cpu", dim=0, norm=norm)
    compare(name, signal(name, (2, 64, 8)).swapaxes(1, 2), "cpu", norm=norm)


@pytest.mark.torch
@pytest.mark.parametrize("name", [*PLANES, *SPACES])
def test_dimensions_that_kernels_transform(name: str) -> None:
    """The last one, and large ones before it."""
    compare(name, signal(name, (3, 64, 65)), "cpu", norm="ortho")
    compare(name, signal(name, (2, 64, 64)), "cpu", (64, 128), (1, 2))
    compare(name, signal(name, (64, 3, 64)), "cpu", (32, 64), (0, 2), "forward")
    compare(name, signal(name, (64, 2, 64)), "cpu", dim=(2, 0))
    compare(name, signal(name, (5, 128), "f4"), "cpu", rtol=1e-4)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["fft", "ifft", "fft2", "fftn", "ifftn"])
def test_real_numbers_as_complex_ones(name: str, device: str) -> None:
    """The whole spectrum; the gradient is real."""
    for shape in ((8, 64), (3, 128, 2), (3, 5)):
        array = RANDOM.standard_normal(shape)
        compare(name, array, device, norm="ortho")
        x = lucid.tensor(array, device=device, requires_grad=True)
        y = lucid.tensor(array + 0j, device=device, requires_grad=True)
        for each in (x, y):
            z = getattr(lucid.fft, name)(each)
            (z.real * z.real * z.imag).sum().backward()
        assert x.grad.dtype == lucid.float64
        np.testing.assert_allclose(x.grad.cpu().numpy(), y.grad.real.cpu().numpy(), rtol=1e-10, atol=1e-8)
    empty = lucid.zeros(0, 4, 5, device=device)
    assert getattr(lucid.fft, name)(empty, dim=(1, 2) if name[-1] in "2n" else 1).dtype == lucid.complex64


@pytest.mark.torch
@pytest.mark.parametrize("name", LINES)
def test_single_precision_is_as_exact_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    for n in (64, 256, 1024, 4096):
        x = signal(name, (16, n), "f4")
        length = 2 * n if name in ("irfft", "hfft") else n
        exact = getattr(np.fft, name)(x.astype("c16" if x.dtype.kind == "c" else "f8"), length)
        ours, theirs = (getattr(lib.fft, name)(lib.tensor(x), length) for lib in (lucid, torch))
        errors = [np.abs(y.numpy() - exact).max() for y in (ours, theirs.resolve_conj())]
        assert errors[0] < 2 * errors[1]


@pytest.mark.torch
@pytest.mark.parametrize("name", LINES)
def test_gradients_of_what_kernels_transform(name: str) -> None:
    """First and second ones."""
    torch = pytest.importorskip("torch")
    array, found = signal(name, (8, 64)), []
    for lib in (lucid, torch):
        x = lib.tensor(array, requires_grad=True)
        y = getattr(lib.fft, name)(x, 64)
        size = (y * y.conj()).real if y.is_complex() else y * y
        first = lib.autograd.grad((size * size).sum(), x, create_graph=True)[0]
        second = lib.autograd.grad((first * first.conj()).real.sum() if first.is_complex() else (first * first).sum(), x)[0]
        found.append([first.detach().resolve_conj().numpy(), second.resolve_conj().numpy()])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())


def test_no_dimension(device: str) -> None:
    compare("fftn", signal("fftn", (2, 3)), device, dim=())
    compare("fftn", np.array(2.0), device)


@pytest.mark.parametrize("dtype", [None, "float64"])
def test_frequencies(dtype: str | None, device: str) -> None:
    torch = pytest.importorskip("torch")
    for n in (1, 2, 5, 8):
        for name in ("fftfreq", "rfftfreq"):
            ours = getattr(lucid.fft, name)(n, 0.5, dtype=dtype and getattr(lucid, dtype), device=device)
            theirs = getattr(torch.fft, name)(n, 0.5, dtype=dtype and getattr(torch, dtype)).numpy()
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours.cpu().numpy(), theirs)
    assert lucid.fft.fftfreq(0, device=device).shape == (0,)
    with pytest.raises(RuntimeError, match="floating point or complex"):
        lucid.fft.fftfreq(3, dtype=lucid.int64)
    with pytest.raises(RuntimeError, match="negative dimension"):
        lucid.fft.fftfreq(-1)


def test_shifts(device: str) -> None:
    torch = pytest.importorskip("torch")
    array = np.arange(60.0).reshape(3, 4, 5)
    for name in ("fftshift", "ifftshift"):
        for dim in (None, 1, (0, 2)):
            ours = getattr(lucid.fft, name)(lucid.tensor(array, device=device), dim)
            np.testing.assert_array_equal(ours.cpu().numpy(), getattr(torch.fft, name)(torch.tensor(array), dim).numpy())
    check_derivatives(lucid.fft.fftshift, device, array[0])


ERRORS: list[tuple[str, Any, dict[str, Any]]] = [
    ("fft", (2, 6), {"n": 0}), ("fft", (2, 6), {"n": -1}), ("fft", (2, 6), {"dim": 5}), ("fft", (2, 6), {"norm": "x"}),
    ("fft", (), {}), ("fftn", (), {"dim": 0}), ("rfftn", (), {"dim": (-1,)}), ("irfftn", (), {"dim": (0,)}),
    ("fft", (3, 0), {}), ("rfft", (3, 0), {}), ("irfft", (2, 1), {}), ("irfft", (2, 6), {"n": 0}), ("fft2", (3,), {}),
    ("fft2", (2, 6), {"s": (3,)}), ("fftn", (2, 6), {"s": (3, 4, 5)}), ("fftn", (2, 6), {"dim": (0, 0)}),
    ("fftn", (2, 6), {"dim": (0, -2)}),
    ("rfftn", (2, 6), {"dim": ()}), ("irfftn", (2, 6), {"dim": ()}), ("rfftn", (), {}), ("fftn", (2, 6), {"s": (0, 3)}),
    ("irfftn", (2, 6), {"s": (2, 0)}), ("fftshift", (3,), {"dim": 4})]


@pytest.mark.torch
@pytest.mark.parametrize(("name", "shape", "keywords"), ERRORS, ids=str)
def test_errors(name: str, shape: tuple[int, ...], keywords: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        getattr(torch.fft, name)(torch.ones(shape), **keywords)
    with pytest.raises(theirs.type):
        getattr(lucid.fft, name)(lucid.ones(shape), **keywords)


@pytest.mark.parametrize("name", ["rfft", "rfft2", "rfftn", "ihfft", "ihfft2", "ihfftn"])
def test_complex_numbers_are_refused_where_real_ones_are_needed(name: str) -> None:
    with pytest.raises(RuntimeError, match="ComplexFloat"):
        getattr(lucid.fft, name)(lucid.ones(2, 3, dtype=lucid.complex64))


def test_half_precision_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Unsupported dtype Half"):
        lucid.fft.fft(lucid.ones(4, dtype=lucid.float16))


def test_out_and_meta(device: str) -> None:
    x = lucid.tensor(RANDOM.standard_normal((3, 4)), device=device)
    out = lucid.empty(3, 3, dtype=lucid.complex128, device=device)
    assert lucid.fft.rfft(x, out=out) is out
    np.testing.assert_allclose(out.cpu().numpy(), np.fft.rfft(x.cpu().numpy()), rtol=1e-12)
    ghost = lucid.empty(3, 4, device="meta")
    assert lucid.fft.rfft2(ghost).shape == (3, 3) and lucid.fft.rfft2(ghost).dtype == lucid.complex64
    assert lucid.fft.irfft(ghost).shape == (3, 6) and lucid.fft.fft(ghost, 9).shape == (3, 9)
