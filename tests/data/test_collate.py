"""Collation against PyTorch's."""
from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest

import lucid
from lucid import data

Point = namedtuple("Point", ["x", "y"])

BATCHES: list[list[Any]] = [
    [1, 2], [1.5, 2.5], [True, False], ["a", "b"], [b"a", b"b"],
    [np.float32(1), np.float32(2)], [np.int16(1), np.int16(2)], [np.float64(1), np.float64(2)],
    [np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)],
    [(1, 2.0), (3, 4.0)], [[1, "x"], [2, "y"]], [Point(1, 2), Point(3, 4)],
    [{"a": 1, "b": [1.0]}, {"a": 2, "b": [2.0]}], [OrderedDict(z=1, a=2), OrderedDict(z=3, a=4)],
]


def plain(value: Any) -> Any:
    """Tensors of either library as (dtype, list)."""
    if hasattr(value, "tolist"):
        return str(value.dtype).removeprefix("torch."), value.tolist()
    if isinstance(value, dict):
        return type(value).__name__, [(key, plain(item)) for key, item in value.items()]
    return (type(value).__name__, [plain(item) for item in value]) if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("batch", BATCHES, ids=repr)
def test_parity(batch: list[Any]) -> None:
    torch_data = pytest.importorskip("torch").utils.data
    assert plain(data.default_collate(batch)) == plain(torch_data.default_collate(batch))
    for sample in batch:
        assert plain(data.default_convert(sample)) == plain(torch_data.default_convert(sample))


def test_tensors(device: str) -> None:
    batch = data.default_collate([(lucid.ones(2, device=device), 1), (lucid.zeros(2, device=device), 2)])
    assert isinstance(batch, list) and batch[0].device == device
    assert batch[0].tolist() == [[1, 1], [0, 0]] and batch[1].tolist() == [1, 2]


def test_errors() -> None:
    with pytest.raises(TypeError, match="must contain tensors"):
        data.default_collate([object()])
    with pytest.raises(TypeError, match="must contain tensors"):
        data.default_collate([np.array(["a"])])
    with pytest.raises(RuntimeError, match="equal size"):
        data.default_collate([(1, 2), (1,)])
    with pytest.raises(RuntimeError):
        data.default_collate([lucid.ones(2), lucid.ones(3)])
