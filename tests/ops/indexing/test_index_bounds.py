"""Indices out of range, for everything that takes indices: at once on the CPU, at the next wait on a GPU."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lucid
from tests.ops.arrays import host, on

DATA = np.random.default_rng(0).standard_normal((4, 5, 3))


# On x of length 4 with the indices (0, 4), which follow it to its device, and (2, 5, 3) numbers.
OUT_OF_RANGE: dict[str, Callable[[lucid.Tensor, lucid.Tensor, lucid.Tensor], Any]] = {
    "getitem": lambda x, bad, source: x[bad],
    "getitem negative": lambda x, bad, source: x[bad - 5],
    "getitem int32": lambda x, bad, source: x[bad.to(lucid.int32)],
    "getitem behind a slice": lambda x, bad, source: x[:, None, bad + 1],
    "getitem beside a mask": lambda x, bad, source: x[on(x.device, [True, False, True, False]), bad + 1],
    "getitem of a view": lambda x, bad, source: x.T[..., bad],
    "setitem": lambda x, bad, source: x.__setitem__(bad, 1.0),
    "setitem numbers": lambda x, bad, source: x.__setitem__(bad, source),
    "setitem pairs": lambda x, bad, source: x.__setitem__((bad, bad), 1.0),
    "index_select": lambda x, bad, source: x.index_select(0, bad),
    "index_select negative": lambda x, bad, source: x.index_select(0, bad - 4),
    "index_add": lambda x, bad, source: x.index_add_(0, bad, source),
    "index_copy": lambda x, bad, source: x.index_copy_(0, bad, source),
    "index_fill": lambda x, bad, source: x.index_fill_(0, bad, 0.0),
    "index_put": lambda x, bad, source: x.index_put_((bad,), source),
    "index_put accumulate": lambda x, bad, source: x.index_put_((bad,), source, accumulate=True),
    "gather": lambda x, bad, source: x.gather(0, bad.reshape(2, 1, 1)),
    "gather negative": lambda x, bad, source: x.gather(0, bad.reshape(2, 1, 1) - 5),
    "take_along_dim": lambda x, bad, source: x.take_along_dim(bad + 60),
    "scatter": lambda x, bad, source: x.scatter_(0, bad.reshape(2, 1, 1), 1.0),
    "scatter_add": lambda x, bad, source: x.scatter_add_(0, bad.reshape(2, 1, 1), source),
    "take": lambda x, bad, source: x.take(bad + 60),
    "length of zero": lambda x, bad, source: x[:0][bad],
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_out_of_range(device: str, name: str) -> None:
    """The CPU raises at once, before it writes; a GPU at the next wait, once, and writes nothing outside the tensor."""
    around = lucid.zeros(8, 5, 3, dtype=lucid.float64, device=device)
    x = around[2:6]
    x[...] = on(device, DATA)
    bad, source = on(device, [0, 4]), lucid.ones(2, 5, 3, dtype=lucid.float64, device=device)
    call = OUT_OF_RANGE[name]
    with pytest.raises(IndexError, match="out of (bounds|range)"):
        call(x, bad, source)
        assert device == "gpu"
        lucid.gpu.synchronize()
    if device == "cpu":
        np.testing.assert_array_equal(host(x), DATA)
    assert host(around[:2]).sum() == host(around[6:]).sum() == 0


@pytest.mark.parametrize("wait", [lambda y: y.cpu(), lambda y: y.tolist(), lambda y: y.numpy(force=True), lambda y: y[0].item(),
                                  lambda y: bool(y[0]), lambda y: float(y[0]), repr, lambda y: y.nonzero().cpu(),
                                  lambda y: lucid.gpu.synchronize()])
def test_every_wait_raises_what_is_out_of_range(wait: Callable[[lucid.Tensor], Any]) -> None:
    x = lucid.tensor([1.0, 2.0, 3.0], device=gpu_or_skip())
    y = x[on("gpu", [1, 3])]
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        wait(y)
    wait(x)


def test_indices_are_checked_without_a_wait() -> None:
    x, index, column = lucid.ones(3, 4, device=gpu_or_skip()), on("gpu", [0, 2, 1]), on("gpu", [[0], [1], [2]])
    x[index]  # the first call compiles and allocates
    import cupyx

    with cupyx.allow_synchronize(False):
        y = x[index] + x.index_select(0, index) + x.gather(0, column)
        x[index] = y
        lucid.nn.functional.embedding(index, x)
        lucid.nn.functional.nll_loss(x, index)
    assert x.sum().item() == 36


def gpu_or_skip() -> str:
    if not lucid.gpu.is_available():
        pytest.skip("needs the simulator or a GPU")
    return "gpu"


def test_out_of_range_has_the_classes_of_torch() -> None:
    x, index = lucid.tensor(DATA[:3, :4, 0]), lucid.tensor([[3]])
    for kind in (IndexError, RuntimeError):
        with pytest.raises(kind, match="index 3 is out of bounds for dimension 0 with size 3"):
            x.gather(0, index)
