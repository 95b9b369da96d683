"""Copies by tiles, against NumPy's."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

KINDS = [np.float32, np.float16, ml_dtypes.bfloat16, np.float64, np.int64, np.uint8, bool]
#: Shapes, and views of them whose neighbours are not those of the result.
CASES = [
    ((33, 47), lambda v: v.T), ((3, 16, 40), lambda v: v.transpose(0, 2, 1)), ((2, 5, 7, 17), lambda v: v.transpose(0, 3, 1, 2)),
    ((2, 19, 5, 7), lambda v: v.transpose(0, 2, 3, 1)), ((35, 3, 18), lambda v: v.transpose(2, 1, 0)),
    ((18, 3, 36), lambda v: v[::-1, :, 1:].transpose(2, 1, 0)), ((70, 66), lambda v: v[1:, ::2].T),
    ((2, 300, 3), lambda v: v.transpose(0, 2, 1)), ((3, 9, 40, 15), lambda v: v.transpose(0, 3, 1, 2)),
    ((4, 66, 7), lambda v: v[:, ::-1, 1:6].transpose(2, 0, 1)), ((257, 2), lambda v: v.T),
    ((2, 3, 17, 2, 16), lambda v: v[:, ::2].transpose(4, 0, 3, 1, 2)), ((64, 1, 64), lambda v: v.transpose(2, 1, 0)),
]  # fmt: skip


@pytest.fixture
def copies(cp):
    from lucid_kernels.cuda.movement import copies

    return copies


def numbers(shape, kind):
    x = np.random.default_rng(0).integers(0, 255, shape)
    if np.dtype(kind).kind == "b":
        return x > 99
    x = x.astype(kind)
    if np.dtype(kind).kind in "fV":
        x.flat[0], x.flat[5], x.flat[-1] = np.nan, -np.inf, -0.0
    return x


FLOATS = np.float32, np.float16, ml_dtypes.bfloat16, np.float64


def is_tiled(launch):
    return any(file == "transpose" for file, _ in launch.loaded())


@pytest.mark.parametrize("kind", KINDS)
def test_values(cp, copies, schedule, kind):
    from lucid_kernels.cuda.runtime import launch

    launch.reload()
    for shape, view in CASES:
        x = numbers(shape, kind)
        found = copies.copied(view(cp.asarray(x)), x.dtype)
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found.get().view(np.uint8), np.ascontiguousarray(view(x)).view(np.uint8))
    assert is_tiled(launch)


def test_into_other_dtypes(cp, copies, schedule):
    """Rounded once; of other pairs of dtypes the kernel for any strides makes the copy."""
    from lucid_kernels.cuda.runtime import launch

    launch.reload()
    x = np.random.default_rng(0).standard_normal((18, 3, 36)) * 100
    x.flat[:6] = np.nan, np.inf, -np.inf, -0.0, 1e6, 1e-6
    for kind in FLOATS:
        for other in (*FLOATS, np.int64):
            with np.errstate(all="ignore"):
                source = x.astype(kind)
                if other is np.int64:  # a whole number of NaN and infinity is undefined: a GPU has the largest for infinity
                    source[~np.isfinite(source)] = 9
                wide = source.astype(np.float32) if np.dtype(other).kind != "f" or np.dtype(other).itemsize == 2 else source
                wanted = wide[::-1, :, 1:].transpose(2, 1, 0).astype(other)
            found = copies.copied(cp.asarray(source)[::-1, :, 1:].transpose(2, 1, 0), np.dtype(other))
            np.testing.assert_array_equal(found.get(), wanted)
    images = np.random.default_rng(0).standard_normal((2, 70, 3)).astype(np.float32)
    for kind, other in ((k, o) for k in FLOATS for o in FLOATS if k != o):
        source = images.astype(kind)
        found = copies.copied(cp.asarray(source).transpose(0, 2, 1), np.dtype(other))
        np.testing.assert_array_equal(found.get(), source.astype(np.float64).transpose(0, 2, 1).astype(other))
    assert sum(file == "transpose_cast" for file, _ in launch.loaded()) == 16


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_into_any_strides(cp, copies, kind):
    """What lies between the elements of the result stays."""
    x = numbers((40, 3, 18), kind)
    memory, expected = cp.full((22, 4, 90), 7, kind), np.full((22, 4, 90), 7, kind)
    for view in (lambda v: v[2:20, :3, 5:45], lambda v: v[20:2:-1, 3:0:-1, 5:45], lambda v: v[2:20, ::2, 50:],
                 lambda v: v[:18, 1:, ::2][..., :40]):
        target = view(memory)
        source = x[:, : target.shape[1]]
        copies.copy(cp.asarray(source).transpose(2, 1, 0), target)
        view(expected)[...] = source.transpose(2, 1, 0)
        np.testing.assert_array_equal(memory.get(), expected)


def test_several_tiles_a_block(cp, copies, monkeypatch):
    from lucid_kernels.cuda.runtime import launch

    monkeypatch.setattr(launch, "grid_cap", lambda blocks: (2,))
    for shape in ((3, 50, 70), (3, 600, 5)):
        x = numbers(shape, np.float32)
        for kind in (np.float32, np.float16):
            found = copies.copied(cp.asarray(x).transpose(0, 2, 1), np.dtype(kind))
            np.testing.assert_array_equal(found.get(), x.transpose(0, 2, 1))


def test_broadcast_and_empty(cp, copies):
    x = numbers((20, 34), np.float32)
    found = copies.copy(cp.asarray(x).T, cp.empty((3, 34, 20), np.float32))
    np.testing.assert_array_equal(found.get(), np.broadcast_to(x.T, (3, 34, 20)))
    assert copies.copied(cp.empty((0, 20), np.float32).T, np.dtype(np.float32)).shape == (20, 0)


def test_what_tiles_do_not_suit(cp, copies):
    from lucid_kernels.cuda.movement.transpose import transposed

    x = cp.asarray(numbers((64, 64), np.float32))
    assert transposed(x.T, cp.empty((64, 64), np.float32))
    for source, target in ((x, cp.empty_like(x)), (x[:8].T, cp.empty((64, 8), np.float32)), (x[:, :8].T[:, :40], cp.empty((8, 40), np.float32)),
                           (x.T, cp.empty((64, 64), np.int32)), (x[:, ::2].T[:, ::2], cp.empty((32, 32), np.float32))):
        assert not transposed(source, target)
