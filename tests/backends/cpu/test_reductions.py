"""Reductions of large CPU arrays give what those of small ones give."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid
from lucid.backends import run
from lucid.backends.cpu.reduction import narrow
from lucid.backends.families import LARGE


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "complex64"])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, (1, 2), (0, 1), (0, 2)])
@pytest.mark.parametrize("keepdims", [True, False])
def test_values_shape_and_dtype(dtype: str, axis: Any, keepdims: bool) -> None:
    x = (np.random.default_rng(0).standard_normal((30, 50, 60)) * 10).astype(dtype)
    assert x.size >= LARGE
    options = {"axis": axis, "keepdims": keepdims}
    wide = x.astype(np.complex128 if dtype == "complex64" else np.float64)
    found = {"sum": run("sum", (x,), options)}
    expected = {"sum": wide.sum(axis=axis, keepdims=keepdims)}
    if dtype != "int64":
        found |= {name: run(name, (x,), options | {"correction": 1}) for name in ("var", "std")}
        found["mean"] = run("mean", (x,), options)
        expected |= {"mean": wide.mean(axis=axis, keepdims=keepdims), "var": wide.var(axis=axis, keepdims=keepdims, ddof=1),
                     "std": wide.std(axis=axis, keepdims=keepdims, ddof=1)}
    if dtype[0] == "f":
        found["norm2"], expected["norm2"] = run("norm2", (x,), options), np.sqrt((wide * wide).sum(axis=axis, keepdims=keepdims))
        found["logsumexp"] = run("logsumexp", (x,), options)
        expected["logsumexp"] = np.log(np.exp(wide).sum(axis=axis, keepdims=keepdims))
    tolerance = 3e-3 if dtype == "float16" else 1e-5
    for name, result in found.items():
        assert result.shape == expected[name].shape
        assert result.dtype == (np.float32 if dtype == "complex64" and name in ("var", "std") else x.dtype)
        np.testing.assert_allclose(result, expected[name], rtol=tolerance, atol=tolerance * 100 if name == "sum" else tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 40_000), (2000, 50), (1000, 70), (9000, 8)])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_products_and_sums_of_numbers(dtype: str, shape: tuple[int, int], axis: int | None) -> None:
    random = np.random.default_rng(0)
    x = np.exp(random.uniform(-0.01, 0.01, shape)).astype(dtype)
    x[0, 0] = -x[0, 0]
    options = {"axis": axis, "keepdims": False}
    np.testing.assert_allclose(run("prod", (x,), options), np.prod(x.astype(np.float64), axis), rtol=1e-4)
    x[:, 7] = np.nan
    np.testing.assert_allclose(run("nansum", (x,), options), np.nansum(x.astype(np.float64), axis), rtol=1e-5)
    assert np.isnan(run("prod", (x,), {"axis": 1, "keepdims": False})).all()
    x[:, 7] = np.inf
    assert np.isinf(run("nansum", (x,), {"axis": 1, "keepdims": True})).all()


def test_norms_of_many_elements_are_exact_to_float32() -> None:
    """Also strided, empty of finite numbers, and too large to square."""
    x = np.random.default_rng(0).standard_normal((1100, 1000)).astype(np.float32)
    exact = np.sqrt((x.astype(np.float64) ** 2).sum())
    for array in (x, x.T, np.repeat(x, 2, axis=1)[:, ::2]):
        np.testing.assert_allclose(run("norm2", (array,), {"axis": (0, 1), "keepdims": False}), exact, rtol=3e-7)
    for value in (np.nan, np.inf, 1e30):
        x[700, 3] = value
        found = run("norm2", (x,), {"axis": None, "keepdims": True})
        assert found.shape == (1, 1) and (np.isnan(found) if np.isnan(value) else np.isinf(found)).all()
        x[700, 3] = 0


@pytest.mark.parametrize("axis", [(0, 2, 3), (0, 2), (3, 0), (0, 1, 3), (-1, 0)])
def test_axes_with_others_in_between(axis: Any) -> None:
    """In two sums: over the last adjacent axes, then over the rest; float32 throughout would be 100 times as far off."""
    x = (np.random.default_rng(0).standard_normal((20, 6, 30, 40)) + 100).astype(np.float32)
    for name in ("sum", "mean"):
        result = run(name, (x,), {"axis": tuple(a % 4 for a in axis), "keepdims": False})
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, getattr(x.astype(np.float64), name)(axis), rtol=2e-7)


def test_dtype_out_and_no_degree_of_freedom() -> None:
    x = np.ones((1, LARGE), np.float32)
    assert run("sum", (x,), {"axis": 1, "keepdims": False, "dtype": np.dtype(np.float64)}).dtype == np.float64
    out = np.zeros(1, np.float32)
    assert run("sum", (x,), {"axis": 1, "keepdims": False, "out": out}) is out and out[0] == LARGE
    assert np.isnan(run("var", (x,), {"axis": 0, "keepdims": False, "correction": 1})).all()
    assert run("var", (x,), {"axis": 0, "keepdims": False, "correction": 0}).max() == 0


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "i4", "i8"])
def test_sums_of_integers(dtype: str) -> None:
    """In int64, where they wrap around; of rows, of columns, of all, and of arrays that our kernels do not take."""
    limits = (0, 2) if dtype == "?" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    x = np.random.default_rng(0).integers(*limits, (30, 70, 90)).astype(dtype)
    for array in (x, x.transpose(2, 0, 1), x[:, 1:]):
        for axis in (None, 0, 1, 2, (0, 1), (1, 2), (0, 2)):
            for keepdims in (False, True):
                found = run("sum", (array,), {"axis": axis, "keepdims": keepdims, "dtype": np.dtype(np.int64)})
                wanted = np.sum(array, axis=axis, keepdims=keepdims, dtype=np.int64)
                assert found.dtype == np.int64 and np.shape(found) == wanted.shape
                np.testing.assert_array_equal(found, wanted)


def _views(x: np.ndarray) -> dict[str, np.ndarray]:
    return {"transposed": x.T, "reversed": x[::-1], "channels last": x.transpose(0, 2, 1).copy().transpose(0, 2, 1), "part": x[:, 1:],
            "crop": x[1:, 2:-1, 3:-1], "every other": x[::2, ::2], "columns": x[..., ::2], "rows": np.broadcast_to(x[:1], x.shape), "numbers": np.broadcast_to(x[..., :1], x.shape),
            "one number": np.broadcast_to(x[0, 0, 0], x.shape)}


@pytest.mark.parametrize("size", [(40, 50, 60), (6, 50, 60)], ids=["large", "small"])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_sums_of_views_are_as_exact_as_others(name: str, size: tuple[int, ...]) -> None:
    """Some units in the last place of a sum of positive numbers: NumPy adds one after the other along some axes."""
    x = (np.random.default_rng(0).random(size) + 1).astype(np.float32)
    for label, view in _views(x).items():
        for axis in (None, 0, 1, 2, (0, 1), (1, 2), (0, 2), (0, 1, 2)):
            for keepdims in (False, True):
                found = run(name, (view,), {"axis": axis, "keepdims": keepdims})
                wanted = getattr(np, name)(view, axis=axis, keepdims=keepdims, dtype=np.float64)
                assert found.dtype == np.float32 and np.shape(found) == wanted.shape
                np.testing.assert_allclose(found, wanted, rtol=5e-7, err_msg=f"{label} {axis}")


_OF_INTEGERS = ("sum", "prod", "max", "min")
_SERVED = {"f2": (*_OF_INTEGERS, "mean", "var", "std", "norm2", "logsumexp", "nansum"), "i4": _OF_INTEGERS, "?": _OF_INTEGERS,
           "c8": ("sum", "mean")}
_SERVED["f8"] = _SERVED["f2"]


@pytest.mark.parametrize(("dtype", "name"), [(dtype, name) for dtype, names in _SERVED.items() for name in names])
def test_reductions_of_large_views(dtype: str, name: str) -> None:
    x = np.random.default_rng(0).standard_normal((40, 50, 60))
    x = (1 + x / 1000 if name == "prod" and dtype[0] == "f" else x * 3).astype(dtype)
    options: dict[str, Any] = {"correction": 1} if name in ("var", "std") else {}
    if name in ("sum", "prod") and dtype in "i4?":
        options["dtype"] = np.dtype(np.int64)
    for label, view in _views(x).items():
        for axis in (None, 0, 1, (0, 2)):
            given = {"axis": axis, "keepdims": False, **options}
            with np.errstate(all="ignore"):
                found, wanted = (run(name, (array,), given) for array in (view, np.ascontiguousarray(view)))
            assert found.dtype == wanted.dtype and np.shape(found) == np.shape(wanted)
            rtol, atol = (2e-3, 0.08) if dtype == "f2" else (1e-5, 4e-4)
            np.testing.assert_allclose(np.asarray(found, wanted.dtype), wanted, rtol=rtol, atol=atol, err_msg=f"{label} {axis}")


# ---- a few long columns ----------------------------------------------------------------------------------------------------
NARROW = [((128, 2), 0), ((1000, 3), 0), ((2000, 4), (0,)), ((300, 1), 0), ((20, 50, 3), (0, 1)), ((20, 50, 3), (1, 0)),
          ((256, 32), 0), ((150, 2, 3), 0), ((127, 2), 0), ((200, 33), 0), ((130, 0), 0), ((0, 3), 0)]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16"])
@pytest.mark.parametrize(("shape", "axis"), NARROW)
def test_columns_that_are_reduced_as_rows(shape: tuple[int, ...], axis: Any, dtype: str) -> None:
    rng = np.random.default_rng(0)
    array = (rng.standard_normal(shape) * 100).astype(dtype)
    if array.size and array.dtype.kind == "f":
        array[5 % len(array), ..., 0] = np.nan
    for x in (array, np.asfortranarray(array), np.repeat(array, 2, axis=-1)[..., ::2]):
        tensor = lucid.from_numpy(x)
        for keepdim in (False, True):
            expected = x.astype(np.float64).sum(axis, keepdims=keepdim)
            found = tensor.sum(axis, keepdim)
            assert found.shape == expected.shape
            np.testing.assert_allclose(found.numpy(), expected, rtol=2e-3 if dtype == "float16" else 1e-5, atol=1e-2)
            if shape[0]:
                for name in ("amax", "amin"):
                    found = getattr(tensor, name)(axis, keepdim)
                    np.testing.assert_array_equal(found.numpy(), getattr(x, name[1:])(axis, keepdims=keepdim))
                if axis == 0:
                    values, places = tensor.max(0, keepdim)
                    np.testing.assert_array_equal(values.numpy(), x.max(0, keepdims=keepdim))
                    np.testing.assert_array_equal(places.numpy(), x.argmax(0, keepdims=keepdim))


@pytest.mark.parametrize(("shape", "axis", "expected"), [
    ((128, 2), 0, 1), ((128, 2), 1, 0), ((128, 16), (0,), 1), ((20, 50, 3), (1, 0), 1), ((20, 50, 3), 2, 0), ((200, 2, 3), (1, 2), 0),
    ((128, 17), 0, None), ((127, 2), 0, None), ((20, 50, 3), 1, None), ((20, 50, 3), (0, 2), None), ((128, 2), (0, 1), None),
    ((128, 0), 0, None), ((128,), 0, None),
])  # fmt: skip
def test_which_matrices_are_transposed(shape: tuple[int, ...], axis: Any, expected: int | None) -> None:
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    found = narrow.transposed(x, axis)
    assert (None if found is None else found[1]) == expected
    if found is not None:
        assert found[0].flags.c_contiguous and found[0].base is None
        assert narrow.transposed(np.asfortranarray(x), axis) is None


def test_sums_of_long_columns_are_as_exact_as_those_of_rows() -> None:
    x = np.random.default_rng(0).random((4000, 2), np.float32)
    error = np.abs(lucid.from_numpy(x).sum(0).numpy() - x.astype(np.float64).sum(0)).max()
    assert error <= 4 * np.spacing(np.float32(2000))
