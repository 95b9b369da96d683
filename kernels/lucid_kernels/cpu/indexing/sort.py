"""The order of the elements of rows, on all threads: a radix sort, which compares nothing, and the first few without it.

Elements become unsigned keys with the order that is wanted (`float_keys`, `integer_keys`), so one kernel sorts all dtypes. A key
travels with its index in one 64-bit word, the key above: equal elements stay in their order. Keys of 64 bits are sorted by their
upper halves, which mostly differ, and then by insertion; or by the lower halves first. NumPy's stable `argsort` takes 6 to 12
times as long, as it branches at each comparison.
"""
from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ..arrays.layout import GRAIN, Array, chunk, chunks, contiguous
from ..runtime import tuning
from ..runtime.allocator import empty
from ..runtime.jit import jit_exact, jit_parallel, jit_unrolled

_DIGIT = 256  # values of a digit: its counts stay in the L1 cache, and 256 positions to write to in the TLB
_SHORT = 48  # words; fewer are sorted by insertion
_MOVES = 4  # of each wide key, until it is sorted by its lower half after all
# `first` inserts up to so many: with more, a row in the worst order takes as long as sorting it. Otherwise it sorts candidates,
# twice as many as it wants and these, and finds up to a share of the row so. Of long rows several pieces are looked through.
_MOST_INSERTED, _CANDIDATES, _SHARE, _PIECES = 16, 256, 16, 16
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


@jit_unrolled
def _float_keys(x: Any, bits: Any, keys: Any, descending: bool) -> None:
    sign = np.uint64(1) << np.uint64(8 * bits.itemsize - 1)
    turn = sign + (sign - np.uint64(1)) if descending else np.uint64(0)
    for i in range(keys.shape[0]):
        key = np.uint64(bits[i])
        key = np.uint64(0) if x[i] == 0 else key  # -0 equals 0
        key = sign - np.uint64(1) if x[i] != x[i] else key  # NaN counts as the largest
        keys[i] = (~key & (sign + (sign - np.uint64(1))) if key & sign else key | sign) ^ turn


@jit_parallel
def _float_keys_parallel(x: Any, bits: Any, keys: Any, descending: bool) -> None:
    for i in numba.prange(chunks(x.size)):
        _float_keys(chunk(x, i), chunk(bits, i), chunk(keys, i), descending)


def float_keys(x: Array, descending: bool) -> Array:
    """Keys of float32 (below 2**32) or float64: -0 is 0, NaN the largest."""
    keys, x = empty(x.shape, np.uint64), contiguous(x)
    _float_keys_parallel(x.reshape(-1), x.view(f"u{x.itemsize}").reshape(-1), keys.reshape(-1), descending)
    return keys


def integer_keys(x: Array, low: Any, high: Any, descending: bool) -> Array:
    """Keys of integers from `low` to `high`, from 0 to ``high - low``."""
    wide = contiguous(x.astype(np.uint64 if x.dtype.kind == "u" else np.int64, copy=False)).view(np.uint64)
    edge = np.uint64(int(high if descending else low) & 0xFFFFFFFFFFFFFFFF)
    return edge - wide if descending else wide - edge


@jit_unrolled
def _insertion_sort(words: Any, count: int) -> None:
    for i in range(1, count):
        word, j = words[i], i
        while j > 0 and words[j - 1] > word:
            words[j] = words[j - 1]
            j -= 1
        words[j] = word


@jit_unrolled
def _radix_sort(words: Any, spare: Any, counts: Any) -> Any:
    """Sort words by their upper halves, stably; in `words` or `spare`, whichever is returned."""
    size = np.uint64(words.shape[0])
    counts[:] = 0
    for i in range(size):
        word = words[i]
        for digit in range(4):
            counts[digit, (word >> np.uint64(32 + 8 * digit)) & np.uint64(_DIGIT - 1)] += np.uint32(1)
    for digit in range(4):
        shift, line = np.uint64(32 + 8 * digit), counts[digit]
        if line[(words[0] >> shift) & np.uint64(_DIGIT - 1)] == size:
            continue
        start = np.uint32(0)
        for value in range(_DIGIT):
            count = line[value]
            line[value] = start
            start += count
        for i in range(size):
            word = words[i]
            value = (word >> shift) & np.uint64(_DIGIT - 1)
            spare[line[value]] = word
            line[value] += np.uint32(1)
        words, spare = spare, words
    return words


@jit_exact
def _sorted_words(words: Any, spare: Any, counts: Any) -> Any:
    if words.shape[0] > _SHORT:
        return _radix_sort(words, spare, counts)
    _insertion_sort(words, words.shape[0])
    return words


@jit_exact
def _sort_halves(keys: Any, words: Any, spare: Any, counts: Any, positions: Any) -> Any:
    """The positions of the keys in the order of their upper halves, and the words that were sorted."""
    for i in range(keys.shape[0]):
        words[i] = (keys[i] & ~_LOW) | np.uint64(i)
    found = _sorted_words(words, spare, counts)
    for i in range(keys.shape[0]):
        positions[i] = found[i] & _LOW
    return found


@jit_exact
def _finish(keys: Any, words: Any, positions: Any) -> bool:
    """Keys in the order of their upper halves, put in order by insertion; False if that takes many moves."""
    left = _MOVES * keys.shape[0]
    for i in range(1, keys.shape[0]):
        if words[i] ^ words[i - 1] <= _LOW:
            position, j = positions[i], i
            while j > 0 and keys[positions[j - 1]] > keys[position]:
                positions[j] = positions[j - 1]
                j -= 1
            positions[j] = position
            left -= i - j
            if left < 0:
                return False
    return True


@jit_unrolled
def _order(keys: Any, wide: bool, words: Any, spare: Any, counts: Any, positions: Any) -> None:
    """The positions of the keys of a row in their order. Wide keys are overwritten."""
    if wide and _finish(keys, _sort_halves(keys, words, spare, counts, positions), positions):
        return
    size = keys.shape[0]
    for i in range(size):
        words[i] = (keys[i] << _HALF) | np.uint64(i)
    found = _sorted_words(words, spare, counts)
    for i in range(size):
        positions[i] = found[i] & _LOW
    if wide:
        for i in range(size):
            words[i] = (keys[positions[i]] & ~_LOW) | np.uint64(i)
        for i in range(size):
            keys[i] = positions[i]
        found = _sorted_words(words, spare, counts)
        for i in range(size):
            positions[i] = keys[found[i] & _LOW]


@jit_exact
def _orders(keys: Any, wide: bool, positions: Any, first: int, last: int) -> None:
    words, spare = np.empty(keys.shape[1], np.uint64), np.empty(keys.shape[1], np.uint64)
    counts = np.empty((4, _DIGIT), np.uint32)
    for row in range(first, last):
        _order(keys[row], wide, words, spare, counts, positions[row])


@jit_parallel
def _orders_parallel(keys: Any, wide: bool, positions: Any) -> None:
    each = max(1, GRAIN // keys.shape[1])
    for i in numba.prange((keys.shape[0] + each - 1) // each):
        _orders(keys, wide, positions, i * each, min(keys.shape[0], (i + 1) * each))


def order(keys: Array, wide: bool) -> Array:
    """The positions int64 (rows, n) of the keys (rows, n) of each row in their order; equal keys stay in theirs.

    Keys are below 2**32 unless `wide`; then they are overwritten. n is from 1 to 2**32.
    """
    if wide or keys.shape[1] > tuning.SORT_LONGEST_BY_NUMPY:
        positions = empty(keys.shape, np.int64)
        _orders_parallel(keys, wide, positions)
        return positions
    words = np.left_shift(keys, _HALF, out=empty(keys.shape, np.uint64))
    words |= np.arange(keys.shape[1], dtype=np.uint64)
    words.sort(axis=1)
    words &= _LOW
    return words.view(np.int64)


@jit_exact
def _insert_first(keys: Any, start: int, least: Any) -> None:
    """The least keys with their positions, from `start` on, in order: as many as `least` has room for."""
    count = least.shape[0]
    limit = np.uint64(0)
    for i in range(keys.shape[0]):
        if i < count or keys[i] < limit:
            word, j = (keys[i] << _HALF) | np.uint64(start + i), min(i, count - 1)
            while j > 0 and least[j - 1] > word:
                least[j] = least[j - 1]
                j -= 1
            least[j] = word
            limit = least[min(i, count - 1)] >> _HALF


@jit_exact
def _select_first(keys: Any, start: int, words: Any, spare: Any, counts: Any, least: Any) -> None:
    """`_insert_first` for more: candidates go to `words`, and whenever that is full, it is sorted and keeps the first of them."""
    count, size = least.shape[0], 0
    limit = np.uint64(1) << np.uint64(33)  # above all keys
    for i in range(keys.shape[0]):
        if keys[i] < limit:
            words[size] = (keys[i] << _HALF) | np.uint64(start + i)
            size += 1
            if size == words.shape[0]:
                words[:count] = _sorted_words(words, spare, counts)[:count]
                size, limit = count, words[count - 1] >> _HALF
    least[:] = _sorted_words(words[:size], spare[:size], counts)[:count]


@jit_exact
def _firsts(keys: Any, least: Any, first: int, last: int) -> None:
    size, (_, pieces, count) = keys.shape[1], least.shape
    room = 0 if count <= _MOST_INSERTED else 2 * count + _CANDIDATES
    words, spare, counts = np.empty(room, np.uint64), np.empty(room, np.uint64), np.empty((4, _DIGIT), np.uint32)
    for unit in range(first, last):
        row, piece = unit // pieces, unit % pieces
        start, stop = piece * size // pieces, (piece + 1) * size // pieces
        if room == 0:
            _insert_first(keys[row][start:stop], start, least[row, piece])
        else:
            _select_first(keys[row][start:stop], start, words, spare, counts, least[row, piece])


@jit_parallel
def _firsts_parallel(keys: Any, least: Any) -> None:
    units, each = keys.shape[0] * least.shape[1], max(1, GRAIN * least.shape[1] // keys.shape[1])
    for i in numba.prange((units + each - 1) // each):
        _firsts(keys, least, i * each, min(units, (i + 1) * each))


def suits_first(size: int, count: int) -> bool:
    """Whether `first` takes less time than `order` for `count` of `size` columns."""
    return 0 < count <= max(_MOST_INSERTED, size // _SHARE)


def first(keys: Array, count: int) -> Array:
    """The first `count` columns of ``order(keys, False)``, where `suits_first` says so."""
    rows, size = keys.shape
    pieces = max(1, min(_PIECES // max(1, rows), size // max(GRAIN, _SHARE * count)))
    least = empty((rows, pieces, count), np.uint64)
    _firsts_parallel(keys, least)
    words = np.sort(least.reshape(rows, -1), 1)[:, :count] if pieces > 1 else least[:, 0]
    return (words & _LOW).view(np.int64)
