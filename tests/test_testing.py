"""`lucid.testing`."""
from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import lucid
from lucid.testing import assert_close, make_tensor


def test_what_is_close_passes(device: str) -> None:
    x = lucid.tensor([1.0, float("inf"), -float("inf"), float("nan")], device=device)
    assert_close(x, x.clone(), equal_nan=True)
    assert_close([x[:1], {"a": 2}], [x[:1] + 1e-7, {"a": 2}])
    assert_close(np.array([1, 2]), np.array([1, 2]))
    assert_close(x[:1], x[:1].double(), check_dtype=False)
    assert_close(lucid.empty(0, 3), lucid.empty(0, 3))


@pytest.mark.parametrize(("actual", "expected", "text"), [
    (lucid.tensor([1.0, 2.0]), lucid.tensor([1.0, 2.5]), r"Mismatched elements: 1 / 2 \(50.0%\)"),
    (lucid.tensor([1.0]), lucid.tensor([1.0]).double(), "attribute 'dtype' do not match: float32 != float64"),
    (lucid.ones(2, 3), lucid.ones(3, 2), "attribute 'shape' do not match"),
    (lucid.ones(2, 3), lucid.ones(3, 2).T, None),
    (lucid.tensor(float("nan")), lucid.tensor(float("nan")), "Scalars are not close"),
    ([1, 2], [1], "length of the sequences mismatch: 2 != 1"),
    ({"a": [1.0, 2.0]}, {"a": [1.0, 3.0]}, r"failure occurred for item \['a'\]\[1\]"),
    (None, 0, "None mismatch"),
])
def test_messages(actual: object, expected: object, text: str | None) -> None:
    if text is None:
        assert_close(actual, expected)
        with pytest.raises(AssertionError, match="stride"):
            assert_close(actual, expected, check_stride=True)
        return
    with pytest.raises(AssertionError, match=text):
        assert_close(actual, expected)
    with pytest.raises(AssertionError, match=r"^mine$"):
        assert_close(actual, expected, msg="mine")
    with pytest.raises(AssertionError, match="^more: "):
        assert_close(actual, expected, msg=lambda message: f"more: {message}")


def test_misuse() -> None:
    with pytest.raises(ValueError, match="must both be specified"):
        assert_close(1.0, 1.0, rtol=1e-3)
    with pytest.raises(TypeError, match="No comparison pair"):
        assert_close("a", "a")


@pytest.mark.parametrize("dtype", ["bool_", "uint8", "int16", "float16", "bfloat16", "float32", "complex64"])
def test_made_tensors(dtype: str, device: str) -> None:
    dtype = lucid.bool if dtype == "bool_" else getattr(lucid, dtype)
    x = make_tensor(40, 3, dtype=dtype, device=device, low=0, high=2, exclude_zero=True)
    assert x.shape == (40, 3) and x.dtype == dtype and x.device == device and bool((x != 0).all())
    assert not make_tensor((4, 3), dtype=dtype, device=device, noncontiguous=True).is_contiguous()
    with pytest.raises(ValueError, match="less than"):
        make_tensor(2, dtype=dtype, low=3, high=1)


def test_importing_lucid_leaves_it_out() -> None:
    lazy = "testing distributed multiprocessing types nn.attention nn.common_types"
    code = f"import sys, lucid; assert not [n for n in '{lazy}'.split() if 'lucid.' + n in sys.modules]; lucid.testing.make_tensor"
    subprocess.run([sys.executable, "-c", code], check=True)
