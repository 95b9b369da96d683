"""Boxes of basic indices, against marking the elements of an array."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

from lucid.backends.boxes import box_of, overlap, size_of

SHAPE = (4, 5, 6)
FULL = slice(None)
INDICES = [
    (0,), (-1,), (FULL,), (slice(1, 3),), (slice(-2, None),), (slice(0, 4, 2),), (slice(1, None, 3),), (slice(3, 1),), (FULL, 2),
    (..., 3), (..., slice(2, 5)), (None, 2, FULL, None, 1), (1, ..., 2), (Ellipsis,), (slice(0, 2), slice(0, 2), slice(0, 2)),
    (slice(2, 4), slice(1, 3), slice(5, 6)), (FULL, FULL, np.int64(4)),
]


def marked(index: tuple[object, ...]) -> np.ndarray:
    """Ones where `index` reads."""
    array = np.zeros(SHAPE, np.int8)
    array[index] = 1
    return array


@pytest.mark.parametrize("index", INDICES)
def test_box_has_the_elements_of_the_index(index: tuple[object, ...]) -> None:
    """Each dimension by itself."""
    array = np.zeros(SHAPE, np.int8)
    array[np.ix_(*map(list, box_of(SHAPE, index)))] = 1
    np.testing.assert_array_equal(array, marked(index))
    assert size_of(box_of(SHAPE, index)) == array.sum()


@pytest.mark.parametrize("count", [2, 3])
def test_overlaps_are_never_missed(count: int) -> None:
    """Boxes that share an element always overlap; those whose ends are apart in some dimension never do."""
    for indices in itertools.combinations(INDICES, count):
        boxes = [box_of(SHAPE, index) for index in indices]
        shared = sum(map(marked, indices)).max() > 1
        assert overlap(boxes) or not shared
        if all("step" not in repr(index) and not any(isinstance(i, slice) and i.step for i in index) for index in indices):
            assert overlap(boxes) == shared


def test_many_parts() -> None:
    """Parts along one dimension are told apart however many there are; a grid only if it is small."""
    assert not overlap([box_of((1000, 4), (i,)) for i in range(1000)])
    assert overlap([box_of((1000, 4), (i,)) for i in (*range(1000), 7)])
    grid = [box_of((8, 8), (slice(i, i + 2), slice(j, j + 2))) for i in range(0, 8, 2) for j in range(0, 8, 2)]
    assert not overlap(grid)
    assert overlap([*grid, grid[3]])


def test_of_a_scalar() -> None:
    """An array of no dimensions has one element."""
    assert size_of(box_of((), (Ellipsis,))) == 1
    assert overlap([box_of((), ()), box_of((), (None,))])
