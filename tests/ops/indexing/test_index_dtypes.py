"""Which dtypes indices may have, as in PyTorch, and which error the others raise."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lucid

WHOLE, SMALL = ("int32", "int64"), ("int8", "int16")


def written(x: Any, key: Any, value: Any) -> Any:
    x = x.clone()
    x[key] = value
    return x


# Of a library, a matrix of 2 x 3, an index vector of 2 and an index matrix of 2 x 2; the dtypes that it takes, the other error.
CASES: dict[str, tuple[Any, tuple[str, ...], type[Exception] | tuple[type[Exception], ...]]] = {
    "x[i]": (lambda t, x, i, m: x[i], (*WHOLE, "uint8"), IndexError),
    "x[:, i]": (lambda t, x, i, m: x[:2, i], WHOLE, IndexError),
    "x[i, i]": (lambda t, x, i, m: x[i, i], WHOLE, IndexError),
    "x[i] = row": (lambda t, x, i, m: written(x, i, x[0]), (*WHOLE, "uint8"), IndexError),
    "x[i] = number": (lambda t, x, i, m: written(x, i, 9.0), WHOLE, (IndexError, RuntimeError)),
    "index_put": (lambda t, x, i, m: x.index_put((i,), x[0, 0]), WHOLE, (IndexError, RuntimeError)),
    "index_put, accumulating": (lambda t, x, i, m: x.index_put((i, i), x[0, 0], accumulate=True), WHOLE, IndexError),
    "gather": (lambda t, x, i, m: t.gather(x, 1, m), WHOLE, RuntimeError),
    "scatter": (lambda t, x, i, m: t.scatter(x, 1, m, x), WHOLE, RuntimeError),
    "scatter of a number": (lambda t, x, i, m: x.clone().scatter_(1, m, 2.0), WHOLE, RuntimeError),
    "scatter_add": (lambda t, x, i, m: t.scatter_add(x, 1, m, x), WHOLE, RuntimeError),
    "scatter_reduce": (lambda t, x, i, m: t.scatter_reduce(x, 1, m, x, "amax"), WHOLE, RuntimeError),
    "index_select": (lambda t, x, i, m: t.index_select(x, 0, i), WHOLE, RuntimeError),
    "index_add": (lambda t, x, i, m: t.index_add(x, 0, i, x), WHOLE, RuntimeError),
    "index_reduce": (lambda t, x, i, m: t.index_reduce(x, 0, i, x, "amax"), WHOLE, RuntimeError),
    "index_copy": (lambda t, x, i, m: t.index_copy(x, 0, i, x), ("int64",), RuntimeError),
    "index_fill": (lambda t, x, i, m: t.index_fill(x, 0, i, 2.0), ("int64",), IndexError),
    "take": (lambda t, x, i, m: t.take(x, i), ("int64",), RuntimeError),
    "take_along_dim": (lambda t, x, i, m: t.take_along_dim(x, m, 1), ("int64",), RuntimeError),
    "take_along_dim of all": (lambda t, x, i, m: t.take_along_dim(x, m), WHOLE, RuntimeError),
    "put": (lambda t, x, i, m: t.put(x, i, x[0, :2]), ("int64",), RuntimeError),
    "put, accumulating": (lambda t, x, i, m: t.put(x, i, x[0, :2], accumulate=True), ("int64",), RuntimeError),
    "repeat_interleave": (lambda t, x, i, m: t.repeat_interleave(x, i, 0), WHOLE, NotImplementedError),
    "repeat_interleave of one": (lambda t, x, i, m: t.repeat_interleave(x, i[:1], 0), WHOLE, NotImplementedError),
    "repeat_interleave of counts": (lambda t, x, i, m: t.repeat_interleave(i), WHOLE, NotImplementedError),
    "nll_loss": (lambda t, x, i, m: t.nn.functional.nll_loss(x, i), ("int64", "uint8"), RuntimeError),
    "cross_entropy": (lambda t, x, i, m: t.nn.functional.cross_entropy(x, i), ("int64", "uint8"), RuntimeError),
    "nll_loss of pixels": (lambda t, x, i, m: t.nn.functional.nll_loss(x[..., None].expand(2, 3, 2), m), ("int64",), RuntimeError),
    "cross_entropy of pixels": (lambda t, x, i, m: t.nn.functional.cross_entropy(x[..., None].expand(2, 3, 2), m), ("int64",),
                                RuntimeError),
}


@pytest.mark.parametrize("dtype", [*WHOLE, *SMALL, "uint8"])
@pytest.mark.parametrize("name", CASES)
def test_dtypes_of_indices(name, dtype, device):
    function, taken, error = CASES[name]
    x = lucid.arange(6, device=device, dtype="float32").reshape(2, 3)
    i, m = (lucid.tensor(data, device=device).to(dtype) for data in ([1, 0], [[1, 0], [0, 1]]))
    if name == "x[:, i]" and dtype == "uint8":
        i = lucid.tensor([1, 0, 0], device=device).to(dtype)
        assert function(lucid, x, i, m).tolist() == [[0], [3]]
        return
    if dtype not in taken:
        before = x.tolist()
        with pytest.raises(error):
            function(lucid, x, i, m)
        assert x.tolist() == before
        return
    result = function(lucid, x, i, m)
    if dtype != "uint8":
        assert result.tolist() == function(lucid, x, i.long(), m.long()).tolist()


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_dtypes_of_indices_as_pytorch():
    torch = pytest.importorskip("torch")
    x = torch.arange(6.0).reshape(2, 3)
    for name, (function, taken, error) in CASES.items():
        for dtype in (*WHOLE, *SMALL, "uint8"):
            if name == "x[:, i]" and dtype == "uint8":
                continue
            i, m = (torch.tensor(data, dtype=getattr(torch, dtype)) for data in ([1, 0], [[1, 0], [0, 1]]))
            if dtype in taken:
                function(torch, x, i, m)
            else:
                with pytest.raises(error):
                    function(torch, x, i, m)


def test_small_integers_that_are_no_vectors(device):
    x = lucid.arange(6, device=device).reshape(2, 3)
    assert x[lucid.tensor(1, dtype="int8")].tolist() == [3, 4, 5]
    assert x[np.array([1, 0], np.int8)].tolist() == [[3, 4, 5], [0, 1, 2]]


def test_a_byte_mask_takes_several_numbers(device):
    x, mask = lucid.zeros(3, device=device), lucid.tensor([1, 0, 1], dtype="uint8", device=device)
    x[mask] = lucid.tensor([5.0, 6.0], device=device)
    assert x.tolist() == [5, 0, 6]
    for number in (9.0, lucid.tensor(9.0, device=device), lucid.tensor([9.0], device=device)):
        with pytest.raises(RuntimeError, match="boolean masks"):
            x[mask] = number
    x[mask.bool()] = 9.0
    assert x.tolist() == [9, 0, 9]
