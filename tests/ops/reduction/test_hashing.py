"""`hash_tensor`: the bits of the elements, joined by exclusive or."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid


def expected(x: np.ndarray, axes: Any = None) -> Any:
    wide = x.astype(np.float64 if x.dtype.kind == "f" else np.int64).view(np.uint64)
    for axis in sorted(range(x.ndim) if axes is None else axes, reverse=True):
        wide = np.bitwise_xor.reduce(wide, axis)
    return wide.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int16", "uint8", "bool"])
def test_values(dtype: str, device: str) -> None:
    x = (np.random.default_rng(0).standard_normal((3, 5, 2)) * 9).astype(dtype)
    t = lucid.tensor(x, device=device)
    assert lucid.hash_tensor(t).dtype == lucid.uint64 and lucid.hash_tensor(t).tolist() == expected(x)
    assert t.hash_tensor(1).tolist() == expected(x, (1,)) and t.hash_tensor((0, -1)).tolist() == expected(x, (0, 2))
    assert lucid.hash_tensor(t, 1, keepdim=True).shape == (3, 1, 2)


def test_edges() -> None:
    nan = lucid.tensor([float("nan"), -0.0, float("inf")])
    assert lucid.hash_tensor(nan).item() == expected(nan.numpy())
    assert lucid.hash_tensor(lucid.tensor(-1)).item() == 2 ** 64 - 1 and lucid.hash_tensor(lucid.tensor(3.0), 0).shape == ()
    assert lucid.hash_tensor(lucid.ones(3, 0), 0).shape == (0,)
    assert not lucid.hash_tensor(lucid.ones(3, requires_grad=True)).requires_grad
    assert lucid.hash_tensor(lucid.arange(12).view(3, 4).T, 0).tolist() == expected(np.arange(12).reshape(3, 4), (1,))
    for call, error in ((lambda: lucid.hash_tensor(lucid.ones(0)), RuntimeError),
                        (lambda: lucid.hash_tensor(lucid.ones(0), 0), IndexError),
                        (lambda: lucid.hash_tensor(lucid.ones(1), mode=1), RuntimeError),
                        (lambda: lucid.ones(1).hash_tensor(1), IndexError),
                        (lambda: lucid.hash_tensor(lucid.ones(1, dtype=lucid.complex64)), NotImplementedError)):
        with pytest.raises(error):
            call()
