"""The array API standard where it differs from PyTorch; its own suite of tests covers the rest (CONTRIBUTING.md says how)."""
from __future__ import annotations

import inspect
import math

import pytest

import lucid
from lucid import array_api as xp

INF, NAN = math.inf, math.nan


def of(values: object, device: str, dtype: object = None) -> lucid.Tensor:
    return xp.asarray(values, dtype=dtype, device=device)


def test_arrays_name_their_namespace() -> None:
    x = lucid.ones(2)
    assert x.__array_namespace__() is x.__array_namespace__(api_version="2022.12") is xp is lucid.array_api
    assert xp.__array_api_version__ == "2024.12"
    with pytest.raises(ValueError, match=r"2099\.12"):
        x.__array_namespace__(api_version="2099.12")


def test_what_the_namespace_says_of_itself() -> None:
    info = lucid.__array_namespace_info__()
    assert info.capabilities() == {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}
    assert info.devices() == ["cpu", *[f"gpu:{i}" for i in range(lucid.gpu.device_count())]]
    assert info.default_device() == "cpu" and info.default_dtypes()["real floating"] == lucid.float32
    assert info.dtypes(kind=("bool", "unsigned integer")) == {"bool": lucid.bool, "uint8": lucid.uint8}
    assert all(getattr(xp, name) == dtype for name, dtype in info.dtypes().items()) and len(info.dtypes()) == 10
    with pytest.raises(ValueError, match="kind"):
        info.dtypes(kind="half")


def test_to_device(device: str) -> None:
    x = lucid.ones(2)
    assert x.to_device(device).device == device
    with pytest.raises(ValueError, match="stream"):
        x.to_device("cpu", stream=1)


def test_arrays_without_dimensions_promote_as_others(device: str) -> None:
    small, large = of([1], device, xp.int8), of(300, device, xp.int16)
    assert (small + large).dtype == lucid.int8  # PyTorch's operator
    assert xp.add(small, large).dtype == lucid.int16 and xp.add(small, large).tolist() == [301]
    assert xp.result_type(small, large) == lucid.int16 and xp.result_type(small, 1.0) == lucid.float32
    assert xp.result_type(xp.float32, 1j) == lucid.complex64 and xp.result_type(xp.float64, 1j, 1) == lucid.complex128
    assert xp.concat([small, large[None]]).dtype == xp.stack([small, large[None]]).dtype == lucid.int16
    with pytest.raises(ValueError, match="array or dtype"):
        xp.result_type(1, 2.0)


def test_scalars_beside_arrays(device: str) -> None:
    x = of([1.0, 4.0], device)
    assert xp.maximum(x, 2).tolist() == xp.maximum(2, x).tolist() == [2, 4]
    assert xp.atan2(0, x).tolist() == [0, 0] and xp.hypot(3.0, x)[1].item() == 5
    assert xp.equal(x, 1).tolist() == xp.equal(1, x).tolist() == [True, False]
    assert xp.where(x > 2, x, 0).tolist() == [0, 4] and xp.where(x > 2)[0].tolist() == [1]
    assert xp.logical_or(of([False, True], device), True).tolist() == [True, True]
    assert xp.clip(of([1, 5], device), max=3).tolist() == [1, 3] and xp.clip(x).tolist() == [1, 4]
    for call in (lambda: xp.add(1, 2), lambda: xp.add(x, "1")):
        with pytest.raises(TypeError, match="add"):
            call()


def test_elements(device: str) -> None:
    whole = of([3, -2], device)
    assert all(f(whole).dtype == lucid.int64 and f(whole).tolist() == [3, -2] for f in (xp.ceil, xp.floor, xp.trunc, xp.round))
    assert xp.round(of([1.5 + 2.5j], device)).tolist() == [2 + 2j]
    assert math.isnan(xp.sign(of([NAN], device)).item()) and xp.sign(of(3 + 4j, device)).item() == pytest.approx(0.6 + 0.8j)
    assert repr(xp.sign(of([complex(-0.0, -0.0)], device)).tolist()) == "[0j]"
    for function in (xp.tanh, lucid.sigmoid):
        assert function(of([complex(INF, 1), complex(-INF, 1)], device)).real.tolist() == [1, -1 if function is xp.tanh else 0]


def test_creation(device: str) -> None:
    assert xp.arange(5, 0, device=device).shape == (0,) and xp.arange(0, 5, 2, device=device).tolist() == [0, 2, 4]
    assert xp.eye(2, 3, k=1, device=device).tolist() == [[0, 1, 0], [0, 0, 1]] and not xp.eye(2, k=5).any()
    assert xp.linspace(0, 1, 4, endpoint=False, device=device).tolist() == [0, 0.25, 0.5, 0.75]
    assert xp.full(2, 3, device=device).tolist() == [3, 3] and xp.tril(xp.ones((2, 2)), k=-1).tolist() == [[0, 0], [1, 0]]
    a, b = xp.meshgrid(of([1, 2], device), of([3, 4, 5], device))
    assert a.shape == (3, 2) and b[2].tolist() == [5, 5]


def test_manipulation(device: str) -> None:
    x = of([[1, 2, 3], [4, 5, 6]], device)
    assert xp.flip(x).tolist() == [[6, 5, 4], [3, 2, 1]] and xp.flip(x, axis=-1)[0].tolist() == [3, 2, 1]
    assert xp.concat([x, x[0]], axis=None).tolist() == [1, 2, 3, 4, 5, 6, 1, 2, 3]
    assert xp.repeat(x, 2, axis=1)[0].tolist() == [1, 1, 2, 2, 3, 3]
    assert xp.repeat(x[0], of([0, 1, 2], device, xp.uint8)).tolist() == [2, 3, 3]
    assert xp.roll(x, 1, axis=(0, 1)).tolist() == [[6, 4, 5], [3, 1, 2]] and xp.roll(x, (1, 1), axis=1)[0].tolist() == [2, 3, 1]
    assert xp.squeeze(x[None, :, None], (0, -2)).shape == (2, 3) and xp.expand_dims(x, -1).shape == (2, 3, 1)
    assert xp.reshape(x, (6,), copy=True).data_ptr() != x.data_ptr() == xp.reshape(x, (6,), copy=False).data_ptr()
    assert [part.tolist() for part in xp.unstack(x, axis=1)] == [[1, 4], [2, 5], [3, 6]]
    for call in (lambda: xp.squeeze(x, 0), lambda: xp.reshape(x.T, (6,), copy=False), lambda: xp.flip(x, axis=(0, 0))):
        with pytest.raises(ValueError, match=r"."):
            call()
    with pytest.raises(IndexError):
        xp.flip(x, axis=2)


def test_statistics(device: str) -> None:
    x = of([[1.0, 2.0], [3.0, 6.0]], device)
    assert xp.max(x, axis=(0, 1)).item() == 6 and xp.min(x, axis=1, keepdims=True).tolist() == [[1], [3]]
    assert xp.var(x).item() == 3.5 and xp.var(x, axis=0, correction=0.5).tolist() == pytest.approx([4 / 3, 16 / 3])
    assert xp.prod(x, axis=(0, 1)).item() == 36 and xp.sum(x, axis=()).tolist() == x.tolist()
    assert xp.sum(of(True, device)).dtype == lucid.int64 and xp.any(of([2], device, xp.uint8)).dtype == lucid.bool
    assert xp.cumulative_sum(x, axis=1, include_initial=True).tolist() == [[0, 1, 3], [0, 3, 9]]
    assert xp.cumulative_prod(x[1]).tolist() == [3, 18] and xp.diff(x, n=1, prepend=of([[0], [0]], device)).tolist() == [[1, 1], [3, 3]]
    assert xp.count_nonzero(x, axis=0, keepdims=True).tolist() == [[2, 2]] and xp.count_nonzero(of(3, device)).item() == 1
    with pytest.raises(ValueError, match="needs an axis"):
        xp.cumulative_sum(x)


def test_searching(device: str) -> None:
    x = of([[3, 1, 2], [6, 5, 4]], device)
    assert xp.sort(x, descending=True)[0].tolist() == [3, 2, 1] and xp.argsort(x)[0].tolist() == [1, 2, 0]
    assert xp.take(x, of([-1, 0], device), axis=1).tolist() == [[2, 3], [4, 6]]
    assert xp.take_along_axis(x, of([[-1], [0]], device)).tolist() == [[2], [6]]
    assert [part.tolist() for part in xp.nonzero(x > 4)] == [[1, 1], [0, 1]]
    assert xp.searchsorted(of([3, 1, 2], device), of([2.5], device), sorter=of([1, 2, 0], device, xp.int32)).tolist() == [2]
    for call in (lambda: xp.take(x, of([0], device)), lambda: xp.nonzero(of(1, device))):
        with pytest.raises(ValueError, match="axis|dimensions"):
            call()


def test_different_elements(device: str) -> None:
    values, indices, inverse, counts = xp.unique_all(of([[2.0, NAN], [2.0, 1.0], [NAN, 1.0]], device))
    assert values[:2].tolist() == [1, 2] and values[2:].isnan().tolist() == [True, True]
    assert indices.tolist() == [3, 0, 1, 4] and counts.tolist() == [2, 2, 1, 1]
    assert inverse.tolist() == [[1, 2], [1, 0], [3, 0]]
    assert xp.unique_values(of([1j, 1 + 0j, 1j, -1 + 2j], device)).tolist() == [-1 + 2j, 1j, 1]
    assert xp.unique_counts(of([], device)).counts.shape == (0,) and xp.unique_inverse(of(5, device)).inverse_indices.shape == ()


def test_linear_algebra(device: str) -> None:
    x, v = of([[2.0, 1.0], [1.0, 3.0]], device), of([1.0, 2.0], device)
    assert xp.linalg.trace(x, offset=1).item() == 1 and xp.linalg.diagonal(x[None]).tolist() == [[2, 3]]
    assert xp.linalg.vector_norm(x, ord=1).item() == 7 and xp.linalg.vector_norm(x, axis=(), ord=2).tolist() == x.tolist()
    assert xp.linalg.vector_norm(x, keepdims=True).shape == (1, 1)
    stacked = xp.linalg.solve(x, xp.stack([xp.stack([v, v])] * 3))  # matrices, though of the shape of a stack of vectors
    assert stacked.shape == (3, 2, 2) and xp.linalg.solve(x, v).tolist() == pytest.approx([0.2, 0.6])
    assert xp.vecdot(of([1j, 1], device), of([1j, 2], device)).item() == 3 and xp.vecdot(of([2], device), of([3], device)).item() == 6
    assert xp.linalg.cross(of([[1.0, 0, 0]] * 2, device), of([0.0, 1, 0], device))[1].tolist() == [0, 0, 1]
    assert xp.linalg.qr(x).Q.shape == (2, 2) and xp.linalg.svd(x).Vh.shape == (2, 2) and xp.linalg.eigh(x).eigenvalues[0] > 1.3
    for call in (lambda: xp.vecdot(v, v[:1]), lambda: xp.vecdot(v, v, axis=0), lambda: xp.matrix_transpose(v)):
        with pytest.raises(ValueError, match="axis|matrices"):
            call()


def test_dtypes() -> None:
    assert xp.isdtype(xp.float32, ("bool", "real floating")) and xp.isdtype(lucid.bfloat16, "numeric")
    assert not xp.isdtype(xp.int8, "unsigned integer") and xp.isdtype(xp.int8, xp.int8)
    assert xp.can_cast(xp.int8, xp.int16) and not xp.can_cast(xp.float64, xp.float32)
    assert xp.finfo(lucid.ones(1)).dtype is lucid.float32 and xp.iinfo(xp.int8).max == 127
    x = lucid.ones(2)
    assert xp.astype(x, xp.float32, copy=False) is x is not xp.astype(x, xp.float32)
    with pytest.raises(ValueError, match="kind"):
        xp.isdtype(xp.int8, "half")


def test_gradients_pass(device: str) -> None:
    x = lucid.tensor([3.0, 1.0, 2.0], requires_grad=True, device=device)
    (xp.sum(xp.sort(x) * of([1, 10, 100], device)) + xp.var(xp.unique_values(x)) + xp.max(x)).backward()
    assert x.grad.tolist() == pytest.approx([101 + 2 / 3, 1 - 2 / 3, 10])


def test_fourier_transforms(device: str) -> None:
    x = of([1.0, 2.0, 3.0, 4.0], device)
    assert xp.fft.irfft(xp.fft.rfft(x, axis=0), n=4).tolist() == pytest.approx(x.tolist())
    assert xp.fft.fftfreq(4, d=0.5, device=device).tolist() == [0, 0.5, -1, -0.5]


def test_names_and_signatures() -> None:
    public = [getattr(space, name) for space in (xp, xp.linalg, xp.fft) for name in space.__all__]
    functions = [value for value in public if callable(value) and not isinstance(value, type)]
    assert len(functions) > 150
    for function in functions:
        assert function.__doc__ and inspect.signature(function), function
