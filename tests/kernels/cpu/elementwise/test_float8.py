"""Floating-point numbers of 8 bits on the CPU: large arrays as small ones, and all as PyTorch."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from lucid_kernels.cpu.elementwise import float8

import lucid
from lucid.backends.sizes import MANY
from lucid.backends.stored import float8 as one_by_one

FORMATS = list(float8._LOOPS)


def numbers() -> np.ndarray:
    """All numbers of half precision, a sample of all of float32, and neighbours of numbers halfway between two."""
    halves = np.arange(1 << 16, dtype=np.uint16)
    sample = np.arange(0, 1 << 32, 65521, dtype=np.uint64).astype(np.uint32).view(np.float32)
    near = [((np.arange(1 << 16, dtype=np.uint32) << 16) + np.uint32(end)).view(np.float32) for end in (1, 0x7FFF, 0x8000, 0xFFFF)]
    return np.concatenate([halves.view(np.float16).astype(np.float32), halves.view(ml_dtypes.bfloat16).astype(np.float32), sample, *near])


def in_parts(function: object, x: np.ndarray, *arguments: object) -> np.ndarray:
    """What `function` makes of few elements at a time."""
    size = MANY - 1
    return np.concatenate([function(x[at:at + size], *arguments) for at in range(0, x.size, size)])  # type: ignore[operator]


@pytest.mark.parametrize("name", FORMATS)
def test_many_numbers_are_rounded_as_few(name: str) -> None:
    x, dtype = numbers(), getattr(lucid, name)
    np.testing.assert_array_equal(float8.narrow(x, name), in_parts(one_by_one.rounded, x, dtype))
    bits = np.arange(256, dtype=np.uint8).repeat(40).reshape(80, -1)
    np.testing.assert_array_equal(float8.widen(bits, name).view(np.uint32), one_by_one.values(dtype)[bits].view(np.uint32))


@pytest.mark.parametrize("name", FORMATS)
def test_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    x = numbers()
    np.testing.assert_array_equal(float8.narrow(x, name), torch.from_numpy(x).to(getattr(torch, name)).view(torch.uint8).numpy())


def test_tensors_of_any_layout() -> None:
    x = lucid.linspace(-500, 500, 3 * MANY).view(-1, 6)
    for dtype in (lucid.float8_e4m3fn, lucid.float8_e5m2):
        for source in (x, x.T, x[:, ::2], x.double(), x.bfloat16(), x.half()):
            there = source.to(dtype)
            assert there.stride() == source.stride() or not source.is_contiguous()
            expected = in_parts(one_by_one.rounded, source.float().numpy().reshape(-1), dtype)
            np.testing.assert_array_equal(there.view(lucid.uint8).numpy().reshape(-1), expected)
            np.testing.assert_array_equal(there.float().numpy().reshape(-1), one_by_one.values(dtype)[expected])
    assert lucid.ones(0, 4).to(lucid.float8_e5m2).float().shape == (0, 4)
