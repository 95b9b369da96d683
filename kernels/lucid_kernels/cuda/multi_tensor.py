"""A step of an optimizer with a list of tensors, in place and in one launch: see `multi_tensor.cu`.

The addresses of the arrays stay on the device between steps. What changes from step to step is read there too, where it lies
there: the counts of steps, the learning rate, whether gradients are infinite and their scale. So a captured step can be repeated.
"""
from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from itertools import chain
from operator import is_
from typing import Any, NamedTuple

import cupy
import numpy as np

from lucid_kernels.cuda.runtime import device_tables, driver, launch, plans, recycling

_MOST_KNOWN = 64  # lists
Row = Sequence[Any]  # the arrays of a tensor: itself, its gradient, its state; None of what the options do not need
Counts = Sequence[Any]  # numbers of its state: 0-d float32 arrays, or floats
_PART = 1 << 12  # elements that a block takes at once: 16 a thread, and a list of 11.5 million makes 2800 blocks
_MOST = 10  # options
_MOST_COUNTS = 3


class Rule(NamedTuple):
    """An optimizer of the source: arrays of state, numbers of state, and the dtypes by their character."""

    moments: int
    counted: int
    dtypes: str = "fd"


RULES = {
    "Sgd": Rule(1, 1, "fdeE"), "Adam": Rule(3, 1, "fdeE"), "RMSprop": Rule(3, 1), "Adagrad": Rule(1, 1), "Adamax": Rule(2, 1),
    "NAdam": Rule(2, 2), "RAdam": Rule(2, 1), "Adadelta": Rule(2, 1), "ASGD": Rule(1, 3), "Rprop": Rule(2, 1),
}


def step(*arrays: Any, rule: str, counts: Sequence[Counts], options: Sequence[float], kept: Numbers | None = None,
         lr: Any = None, found_inf: Any = None, grad_scale: Any = None, same: Any = None) -> None:
    """A step of an optimizer by the name of its `rule`: `arrays` are the rows of the tensors, `counts` their numbers before it.

    Counts that are arrays are counted on. `lr`, an array (float32) on the device, comes in the place of the first option; with
    `kept` all are read from there, where they are written first if they have changed. With `grad_scale` the gradients are divided
    by it, in place; with a `found_inf` other than 0 nothing happens. Tensors of one dtype and with the same counts, or with
    arrays of counts, are one launch. One that is listed twice takes its second step after the first.

    The object `same` is given again as long as all arrays but the gradients are the same, with those of counts, and gradients
    have the same shapes and dtypes. Its attribute `known`, None at first, is for what spares us looking at them.
    """
    given = [None, lr, found_inf, grad_scale]
    if kept is not None:
        kept.write(options)
        given[0] = kept.array
    scalars = [0 if array is None else array.data.ptr for array in given]
    carried = _numbers(tuple(options), _MOST)
    width = len(arrays) // len(counts) if counts else 0
    if same is not None and same.known is not None and same.known.takes(arrays[1::width]):
        same.known.launch(rule, scalars, carried)
        return
    place = rule, width, len(counts), arrays[0].data.ptr if width else 0
    known = _known.get(place)
    if known is not None and known.fits(arrays, counts):
        if same is not None:
            same.known = known
        known.launch(rule, scalars, carried)
        return
    rows = [arrays[number * width : (number + 1) * width] for number in range(len(counts))]
    lists: dict[Any, _List] = {}
    seen, later = set(), []
    for number, (row, numbers) in enumerate(zip(rows, counts, strict=True)):
        param = row[0]
        if id(param) in seen:
            later.append(number)
            continue
        seen.add(id(param))
        counted = bool(numbers) and hasattr(numbers[0], "dtype")
        key = param.dtype.char, None if counted else tuple(numbers)
        chosen = lists.get(key)
        if chosen is None:
            chosen = lists[key] = _List(param.dtype)
        chosen.add(row, numbers if counted else (), RULES[rule])
    for (_, numbers), chosen in lists.items():
        chosen.numbers_given = numbers
        chosen.launch(rule, scalars, carried)
    if len(lists) == 1 and not later:
        chosen = next(iter(lists.values()))
        if not chosen.copies:
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            chosen.remember(arrays, counts, width)
            _known[place] = chosen
    if later:  # their gradients are without the scale now
        step(*(array for number in later for array in rows[number]), rule=rule, counts=[counts[number] for number in later],
             options=options, kept=kept, lr=lr, found_inf=found_inf)


class Numbers:
    """The options of a group of parameters, kept on a device: what is captured reads them there."""

    def __init__(self) -> None:
        self.array = launch.empty((_MOST,), np.float64)
        self._written: list[float] = []

    def write(self, numbers: Sequence[float]) -> None:
        """Let these be the numbers; at once, if the current stream is being captured."""
        new = [*map(float, numbers)]
        if new == self._written:
            return
        self._written = new
        carried = np.array(new).view(np.int64).tolist()
        if not cupy.cuda.get_current_stream().is_capturing():
            device_tables.store(self.array.view(np.int64), carried)
            return
        device_tables.store_while_capturing(self.array.view(np.int64), carried)


class _List:
    """The tensors of a launch. One that was a whole step is known at the next one, which most often has other gradients only."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self.numbers_given: Sequence[float] | None = None  # on the host, the same for all tensors
        self.width = 0
        self.rows_alone = False
        self.references: list[Any] = []
        self.identities: list[int] = []
        self.parts = [0]
        self.sizes: list[int] = []
        self.strides: list[tuple[int, ...] | None] = []  # of the arrays of a row, where they have no gaps but are not row-major
        self.gradients: list[int] = []  # addresses, and those of the other arrays
        self.addresses: list[int] = []
        self.numbers: list[int] = []
        self.copies: list[tuple[Any, Any]] = []
        self.last: tuple[Any, Any, Any] = (None, None, None)  # the kernel, the options and the counts of the last launch
        self.again: driver.Launch | None = None  # which repeats it
        self.outlived: list[Any] = []  # where an array is gone, whose memory may be another's

    def add(self, row: Row, numbers: Counts, rule: Rule) -> None:
        """Add a tensor."""
        param, dtype = row[0], self.dtype
        size = param.size
        strides = None if param._c_contiguous or not recycling.has_no_gaps(param) else param.strides
        self.sizes.append(size)
        self.strides.append(strides)
        self.parts.append(self.parts[-1] - (-size // _PART))
        addresses = [0 if array is None else (
            array if _is_supported(array, dtype, strides) else self.copied(array, dtype, strides)).data.ptr for array in row]
        self.gradients.append(addresses.pop(1))
        self.addresses += [*addresses, *[0] * (1 + rule.moments - len(addresses))]
        if numbers:
            single = np.float32
            self.numbers += [(array if array.dtype == single else self.copied(array, single)).data.ptr for array in numbers]
        else:
            self.numbers += [0] * rule.counted

    def copied(self, array: Any, dtype: Any, strides: tuple[int, ...] | None = None) -> Any:
        """A copy without gaps, row-major or with its dimensions as `strides` has them, which is written back after the launch."""
        if strides is not None:
            array = array.transpose(sorted(range(array.ndim), key=strides.__getitem__, reverse=True))
        copy = cupy.array(array, dtype, order="C")
        self.copies.append((copy, array))
        return copy

    def remember(self, arrays: Sequence[Any], counts: Sequence[Counts], width: int) -> None:
        """Keep what says whether the next step is one of these tensors. Nothing is kept alive by it."""
        self.width = width
        self.rows_alone = all(strides is None for strides in self.strides)
        kept = _but_gradients(arrays, width) + ([*chain.from_iterable(counts)] if self.numbers_given is None else [])
        self.references = [weakref.ref(array, self.outlived.append) for array in kept if array is not None]
        self.identities = [*map(id, kept)]

    def fits(self, arrays: Sequence[Any], counts: Sequence[Counts]) -> bool:
        """Whether these are the same arrays, but for gradients, whose addresses are taken."""
        if self.outlived:  # else they are all there, and none of another one's identity
            return False
        width, dtype = self.width, self.dtype
        kept = _but_gradients(arrays, width)
        numbers: Sequence[float] | None = None
        if self.numbers_given is None:
            kept += chain.from_iterable(counts)
        else:
            numbers = tuple(counts[0])
            if any(hasattr(number, "dtype") for number in numbers) or any(tuple(each) != numbers for each in counts):
                return False
        if self.identities != [*map(id, kept)]:
            return False
        grads = arrays[1::width]
        if any(grad.dtype != dtype for grad in grads) or not self.takes(grads):
            return False
        self.numbers_given = numbers
        return True

    def takes(self, grads: Sequence[Any]) -> bool:
        """Whether the kernel can take gradients of the right dtype as they lie: then these are the next ones."""
        if self.rows_alone:
            addresses = [grad.data.ptr for grad in grads if grad._c_contiguous]
        else:
            addresses = [grad.data.ptr for grad, strides in zip(grads, self.strides, strict=True)
                         if (grad._c_contiguous if strides is None else grad.strides == strides)]
        if len(addresses) < len(grads):
            return False
        self.gradients = addresses
        return True

    def launch(self, name: str, scalars: Sequence[int], options: Any) -> None:
        """Take the step."""
        numbers = self.numbers_given
        # What changes from step to step stands together: one launch writes it.
        table = [0, *scalars, *self.gradients, *self.parts, *self.sizes, *self.addresses, *self.numbers]
        counts = _numbers(tuple(numbers or ()), _MOST_COUNTS)
        kernel = launch.kernel("multi_tensor", f"multi_tensor<{launch.ctype(self.dtype)}, {name}>")
        array = device_tables.table((name, self.dtype.char, self.addresses[0]), table)
        last, self.last = self.last, (kernel, options, counts)
        if plans.repeats() and all(map(is_, last, self.last)):
            if self.again is None:
                parameters = np.int32(len(self.sizes)), options, counts, np.int32(numbers is None)
                self.again = driver.Launch(kernel, launch.grid_cap(self.parts[-1]), (launch.BLOCK,),
                                           (0, *[parameter.tobytes() for parameter in parameters]))
            self.again(cupy.cuda.get_current_stream().ptr, array.data.ptr)
        else:
            self.again = None
            kernel(launch.grid_cap(self.parts[-1]), (launch.BLOCK,),
                   (array, np.int32(len(self.sizes)), options, counts, np.int32(numbers is None)))
        for copy, array in self.copies:
            array[...] = copy


@functools.lru_cache(256)
def _numbers(numbers: tuple[float, ...], count: int) -> Any:
    """Numbers as a kernel gets them. The same ones are the same object, as long as they are few."""
    return device_tables.struct_argument("d", numbers, count)


def _but_gradients(arrays: Sequence[Any], width: int) -> list[Any]:
    """The arrays of rows of so many, but for the second of each."""
    kept = [*arrays]
    del kept[1::width]
    return kept


def _is_supported(array: Any, dtype: Any, strides: tuple[int, ...] | None) -> bool:
    """Whether the kernel can take `array` as it is: row-major, or as the parameter lies that has these `strides`."""
    return array.dtype == dtype and (array._c_contiguous if strides is None else array.strides == strides)


_known: dict[Any, _List] = {}
