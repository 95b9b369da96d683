"""Plans: an operation that was called before is repeated without its launcher, which takes most of a small one's time.

The first call of an operation with arrays of these shapes and dtypes, these attributes, on this stream is recorded
(`recording`): which kernels it launches, with which grid and constants, and where the addresses of its arguments, results and
temporary arrays stand among the parameters. Later calls put the addresses of their arrays there (`native`); results come from
rings (`recycling`), and so does one workspace, in which all temporary arrays lie.

What a plan may depend on is its key: the shape, the dtype, the strides and the alignment of each array, which arrays are the
same, which are None, all attributes but those that `move`, whether there is `out`, whether convolutions are TF32, the stream and
the device. Everything else is called as it was: arrays without elements, attributes of other types than `_PLAIN`, a stream that
is being captured, an allocator that somebody has set, and calls whose launchers do what was not recorded, such as copying an
array with gaps.

An attribute that moves, such as the offset of random numbers, is an integer of which the launcher makes arguments of 64 bits
and nothing else: `recording.moving` notes them. Plans put it there as they put an address.

LUCID_GPU_PLANS=0 turns plans off.
"""
from __future__ import annotations

import functools
import operator
import os
import struct
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np
from ml_dtypes import bfloat16

from lucid_kernels import tf32
from lucid_kernels.cuda.runtime import driver, launch, native, plan_lookup, recording, recycling
from lucid_kernels.expression import Program

ENABLED = os.environ.get("LUCID_GPU_PLANS", "1") != "0"
MOST_PLANS = 1 << 12  # of an operation; one whose attributes always differ would have a plan for each call

Kernel = Callable[..., Any]
_ndarray = cupy.ndarray
_HALF = 1 << 63
_ALIGNED = 256  # bytes: where a temporary array may begin
_PLAIN = frozenset((int, bool, float, str, tuple, type(None), Program,
                    *[type(np.dtype(kind)) for kind in (*"?bBhHilqefdFD", bfloat16)]))
_stream = cupy.cuda.get_current_stream
_device = cupy.cuda.runtime.getDevice
_several = cupy.cuda.runtime.getDeviceCount() > 1
_allocator = cupy.cuda.get_allocator
_caches: list[dict[Any, Any]] = []
_DOUBLE, _BITS = struct.Struct("<d").pack, struct.Struct("<q").unpack  # a number as it stands in the place of a pointer
_EXACT = 1 << 53
_REAL = frozenset("eEfd")
_NUMBERS = frozenset((float, int))


class Plan:
    """What repeats a call: its program, rings for its new arrays, and what it returns."""

    __slots__ = ("address", "allocator", "flagged", "pair", "pick", "program", "ring", "takes")

    def __init__(self, program: native.Program, rings: list[recycling.Ring], results: list[tuple[bool, int] | None], many: bool,
                 flagged: bool) -> None:
        """`results`: of each whether it is new, and its number among the new arrays or the arguments; None is None."""
        self.program = program
        self.address = program.address
        self.takes = [ring.take for ring in rings]
        #: What is returned, of the new arrays, the arguments and None.
        places = [-1 if place is None else place[1] + (0 if place[0] else len(rings)) for place in results]
        self.pick: Callable[[tuple[Any, ...]], Any] = operator.itemgetter(*places)
        if many and len(places) == 1:
            self.pick = operator.itemgetter(slice(places[0], places[0] + 1 or None))
        self.flagged = flagged
        #: That of the result, where there is one new array and nothing else; and of the result and a workspace.
        usual = len(rings) if results == [(True, 0)] and not flagged and not many else 0
        self.ring = rings[0] if usual == 1 else None
        self.pair = (*self.takes,) if usual == 2 else None
        self.allocator = _allocator()


def planned(kernel: Kernel, *, numbers: bool = False, moves: Sequence[str] = ()) -> Kernel:
    """`kernel`, an entry of a table of operations, by plans where they are right.

    Python numbers among its arguments stand in the key, unless it gives `numbers` to its kernels as they are
    (`recording.number`): then a plan serves all of them. The attributes `moves` are not in the key.
    """
    if not ENABLED:
        return kernel
    plans: dict[Any, Any] = {}
    _caches.append(plans)
    run = native.runner()
    functions: dict[Any, Callable[..., Any]] = {}  # by the form of a call and the classes of its operands

    @functools.wraps(kernel)
    def call(*arrays: Any, **attributes: Any) -> Any:
        # One or two arrays that make another one, on the default stream: as `plan_lookup.function`, in 0.4 us less.
        if not attributes and not _several and not recording.recorders:
            if len(arrays) == 1:
                x = arrays[0]
                if x.__class__ is _ndarray and x._c_contiguous:
                    p = x.data.ptr
                    plan = plans.get((0, x.shape, x.dtype.char))
                    if plan and plan.ring is not None and not p & 15 and plan.allocator is _allocator() and not _stream().ptr:
                        result, address = plan.ring.take()
                        status = run(plan.address, 0, p, address)
                        if status:
                            driver.failed(status, plan.program, functools.partial(run, plan.address, 0, p, address))
                        return result
            elif len(arrays) == 2:
                x, y = arrays
                if x.__class__ is _ndarray is y.__class__ and x._c_contiguous and y._c_contiguous:
                    p, q = x.data.ptr, y.data.ptr
                    plan = plans.get((0, x.shape, x.dtype.char, y.shape, y.dtype.char))
                    if plan and plan.ring is not None and p != q and not (p | q) & 15 and plan.allocator is _allocator() and (
                            not _stream().ptr):
                        result, address = plan.ring.take()
                        status = run(plan.address, 0, p, q, address)
                        if status:
                            driver.failed(status, plan.program, functools.partial(run, plan.address, 0, p, q, address))
                        return result
                elif numbers and x.__class__ is _ndarray and y.__class__ in _NUMBERS and x._c_contiguous:
                    p = x.data.ptr
                    plan = plans.get((0, x.shape, x.dtype.char, y.__class__))
                    if plan and plan.ring is not None and not p & 15 and plan.allocator is _allocator() and not _stream().ptr:
                        bits = _bits(y, x.dtype)
                        if bits is None:
                            return general(arrays, attributes)
                        result, address = plan.ring.take()
                        status = run(plan.address, 0, p, bits, address)
                        if status:
                            driver.failed(status, plan.program, functools.partial(run, plan.address, 0, p, bits, address))
                        return result
        if moves or recording.recorders:
            return general(arrays, attributes)
        operands, form = arrays, plan_lookup.PLAIN
        others: tuple[tuple[str, Any], ...] = ()
        if attributes:
            out = attributes.get("out")
            if out is None:
                others, form = tuple(attributes.items()), plan_lookup.ATTRIBUTES
            else:
                others = () if len(attributes) == 1 else tuple([item for item in attributes.items() if item[0] != "out"])
                written = out if out.__class__ is tuple else (out,)
                operands, form = (*arrays, *written), plan_lookup.OUT + len(written)
        kinds = (*map(type, operands), form)
        function = functions.get(kinds)
        if function is None:
            function = functions[kinds] = plan_lookup.function((*map(type, operands),), form, known) or handed_on
        return function(operands, others, arrays, attributes)

    def handed_on(operands: Any, others: Any, arrays: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        return general(arrays, attributes)

    def general(arrays: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        if recording.recorders:  # what is repeated inside of a call that is recorded would not be seen
            return kernel(*arrays, **attributes)
        stream = _stream()
        key: list[Any] = [stream.ptr]
        if key[0] and stream.is_capturing():
            return kernel(*arrays, **attributes)
        given: list[Any] = []
        pointers: list[int] = []
        bits: list[Any] = []
        moving: list[int] = []
        misaligned, gaps = 0, False
        for array in arrays:
            if array.__class__ is _ndarray:
                pointer = array.data.ptr
                key += array.shape, array.dtype.char
                if not array._c_contiguous:
                    gaps = True
                    pointer -= _before(array.shape, array.strides)
                misaligned |= pointer
                pointers.append(pointer)
                given.append(array)
            elif array is None:
                key.append(None)
            elif array.__class__ is float or (array.__class__ is int and -_HALF <= array < _HALF):
                if numbers:
                    key.append(array.__class__)
                    bits.append(array)
                else:  # equal numbers of two types may be computed otherwise
                    key.append((array.__class__, str(array)))
            else:
                return kernel(*arrays, **attributes)
        if attributes:
            out = attributes.get("out")
            others = attributes
            if moves or out is not None:
                others = dict(attributes)
                if out is not None:
                    del others["out"]
                for name in moves:
                    if name in others:
                        key.append(name)
                        moving.append((others.pop(name) + _HALF) % (2 * _HALF) - _HALF)  # the same 64 bits as a signed number
            if not _PLAIN.issuperset(map(type, others.values())):
                return kernel(*arrays, **attributes)
            key += tuple(others.items()), tf32.convolutions
            if out is not None:
                key.append("out")
                for array in out if out.__class__ is tuple else (out,):
                    if array is None:
                        key.append(None)
                        continue
                    if array.__class__ is not _ndarray:
                        return kernel(*arrays, **attributes)
                    key += array.shape, array.dtype.char
                    pointer = array.data.ptr
                    if not array._c_contiguous:
                        gaps = True
                        pointer -= _before(array.shape, array.strides)
                    misaligned |= pointer
                    pointers.append(pointer)
                    given.append(array)
            # Numbers of several types are equal, and launchers make the same of them, but for the sign of zero.
            if 0.0 in others.values():  # or 0, or False
                key += [str(value) for value in others.values() if value.__class__ is float and not value]
        if bits and not (given and _packed(bits, given)):
            return kernel(*arrays, **attributes)
        if gaps:
            key += "strides", tuple([None if array._c_contiguous else array.strides for array in given])
            # `plan_lookup` compares the pointers of the arrays, which are others.
            if any(pointer != array.data.ptr for pointer, array in zip(pointers, given, strict=True)):
                key.append("backwards")
        if misaligned & 15:
            key += "aligned", tuple([pointer & 15 for pointer in pointers])
        if len(pointers) > 1 and len({*pointers}) < len(pointers):
            key += "same", tuple(map(pointers.index, pointers))
        if _several:
            key.append(_device())
        found = tuple(key)
        plan = plans.get(found)
        if plan is None:
            return _first(plans, found, kernel, arrays, attributes, given, pointers, bits, moves)
        if plan is False:
            return kernel(*arrays, **attributes)
        if plan.allocator is not _allocator():
            plans.clear()
            return kernel(*arrays, **attributes)
        pointers += bits
        new = []
        for take in plan.takes:
            array, pointer = take()
            new.append(array)
            pointers.append(pointer)
        if plan.flagged:
            pointers.append(launch.error_flag().data.ptr)
        pointers += moving
        status = run(plan.address, key[0], *pointers)
        if status:
            driver.failed(status, plan.program, functools.partial(run, plan.address, key[0], *pointers))
        return plan.pick((*new, *given, None))

    known = {"general": general, "plans": plans, "run": run, "stream": _stream, "allocator": _allocator, "tf32": tf32,
             "several": _several, "device": _device, "failed": driver.failed, "partial": functools.partial,
             "flag": launch.error_flag}
    return call


def repeats() -> bool:
    """Whether launches may be repeated that CuPy has made once: not while a call is recorded."""
    return ENABLED and not recording.recorders


@functools.lru_cache(4096)
def _before(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Bytes in front of the first element of an array with negative strides: kernels get the address where its memory begins."""
    return -sum([(size - 1) * stride for size, stride in zip(shape, strides, strict=True) if stride < 0])


def _bits(number: Any, dtype: Any) -> int | None:
    """The bits of a number as a plan has it beside an array: of a double beside a floating one, of a whole number beside
    integers. None where a plan cannot have it: beside others, or out of the range of the dtype.
    """
    if dtype.char in _REAL:
        if number.__class__ is int and not -_EXACT <= number <= _EXACT:
            return None
        found: int = _BITS(_DOUBLE(number))[0]
        return found
    return int(number) if number.__class__ is int and recording.is_in_range(number, dtype) else None


def _packed(numbers: list[Any], given: list[Any]) -> bool:
    """Replace numbers by their bits beside each of the arrays `given`; False where there are none, or several."""
    real = given[0].dtype.char in _REAL
    if any((array.dtype.char in _REAL) != real for array in given):
        return False
    for place, number in enumerate(numbers):
        found = [_bits(number, array.dtype) for array in given]
        if None in found:
            return False
        numbers[place] = found[0]
    return True


def _first(plans: dict[Any, Any], key: Any, kernel: Kernel, arrays: Any, attributes: dict[str, Any], given: list[Any],
           pointers: list[int], bits: list[int], moves: Sequence[str]) -> Any:
    """The result of a call that has no plan yet, which it gets."""
    if any(array.size == 0 for array in given):
        return kernel(*arrays, **attributes)
    places = iter(range(len(pointers), len(pointers) + len(bits)))
    if bits:
        given_at: Callable[[int, Any], Any] = recording.Given.at if given[0].dtype.char in _REAL else recording.GivenInteger.at
        arrays = [given_at(next(places), array) if array.__class__ in (float, int) else array for array in arrays]
    launch.make_flag()  # not while operations are counted
    before = driver.operations()
    with recording.Recorder(moves) as record:
        result = kernel(*arrays, **attributes)
    if record.record_next:
        return result
    if len(plans) >= MOST_PLANS:
        plans.clear()
    plan = _plan(record, result, given, pointers, len(bits), key[0], [name for name in moves if name in attributes])
    if plan and before is not None and driver.operations() != before + len(record.steps):
        raise AssertionError(f"{kernel.__name__}: CuPy has done what a plan does not repeat; launchers say so by `unrepeatable`")
    plans[key] = plan
    return result


def _plan(record: recording.Recorder, result: Any, given: list[Any], pointers: list[int], bits: int, stream: int,
          moving: list[str]) -> Plan | bool:
    """The plan that repeats a recorded call, with so many numbers in `bits` behind the pointers; False where there is none."""
    if not record.repeatable or not record.steps or {name for name, _ in record.moving} != {*moving}:
        return False
    used = {argument.place for step in record.steps for argument in step[3 if step[0] else 1]
            if isinstance(argument, recording.SLOTS)}
    if len(used) < bits:  # the launcher has done something else with a number
        return False
    known = len(pointers) + bits
    fresh = {array.data.ptr: array for array in record.arrays if array.size}
    made: list[Any] = []  # new arrays in the order of their pointers
    numbers = {pointer: number for number, pointer in reversed([*enumerate(pointers)])}
    # What comes after the arrays: the flag, what moves, and pointers into new arrays; numbered from the end until all are known.
    last = native.MOST_POINTERS - 1
    parts: list[tuple[int, int]] = []  # the number of the array, and the bytes before

    def number_of_new(pointer: int) -> int:
        if pointer not in numbers:
            numbers[pointer] = known + len(made)
            made.append(fresh[pointer])
        return numbers[pointer]

    def number_of(pointer: int) -> int | None:
        if pointer not in numbers:
            if pointer in fresh:
                return number_of_new(pointer)
            if record.flag is not None and pointer == record.flag.data.ptr:
                return last
            whole = next((first for first, array in fresh.items() if first < pointer < first + array.nbytes), None)
            if whole is None:
                return None
            parts.append((number_of_new(whole), pointer - whole))
            numbers[pointer] = last - len(moving) - len(parts)
        return numbers[pointer]

    many = result.__class__ is tuple
    results: list[tuple[bool, int] | None] = []
    for value in result if many else (result,):
        if value is None:
            results.append(None)
            continue
        same = next((number for number, array in enumerate(given) if array is value), None)
        if same is not None:
            results.append((False, same))
            continue
        if value.__class__ is not _ndarray or not value.size or not recycling.has_no_gaps(value):
            return False
        pointer = value.data.ptr
        source = fresh.get(pointer)
        if pointer in numbers or source is None or source.nbytes != value.nbytes or source.dtype != value.dtype:
            return False
        fresh[pointer] = value  # which may have another shape
        number = number_of(pointer)
        assert number is not None
        results.append((True, number - known))
    program = _program(record, number_of, {id(number): last - 1 - moving.index(name) for name, number in record.moving})
    if program is None:
        return False
    new = [place[1] for place in results if place is not None and place[0]]
    rings = _lay_out(program, made, new, known, record.flag is not None, len(moving), parts, stream)
    if rings is None:
        return False
    program.finish()
    order = {number: place for place, number in enumerate(new)}
    results = [place if place is None or not place[0] else (True, order[place[1]]) for place in results]
    return Plan(program, rings, results, many, record.flag is not None)


def _lay_out(program: native.Program, made: list[Any], new: list[int], known: int, flagged: bool, moving: int,
             parts: list[tuple[int, int]], stream: int) -> list[recycling.Ring] | None:
    """The rings of the new arrays that a call returns, those with the numbers `new` among all that are `made`, and of a workspace
    for the others, which lie in it one after the other. The pointers of `program` get their places behind the first `known`:
    the new arrays, the workspace, the flag, what moves, and parts of arrays. None where there are too many.
    """
    device = _device()
    rings = [recycling.ring(array.shape, array.dtype, stream, device, None if array._c_contiguous else array.strides)
             for array in (made[number] for number in new)]
    places = {known + number: place for place, number in enumerate(new, known)}
    begins, size = {}, 0
    for number, array in enumerate(made, known):
        if number not in places:
            begins[number] = size
            size += -(-array.nbytes // _ALIGNED) * _ALIGNED
    work = known + len(new)
    if begins:
        rings.append(recycling.workspace(size, stream, device))
    after = known + len(rings)
    last, others = native.MOST_POINTERS - 1, moving + len(parts)
    end = after + flagged + others
    if known + len(made) >= last - others or end + len(begins) > native.MOST_POINTERS:
        return None
    places |= dict(zip(begins, range(end, end + len(begins)), strict=True))
    program.move({last: after, **places, **{last - 1 - place: after + flagged + place for place in range(others)}})
    for number, begin in begins.items():
        program.part(places[number], work, begin)
    for place, (number, offset) in enumerate(parts, after + flagged + moving):
        if number in begins:
            number, offset = work, begins[number] + offset
        program.part(place, places.get(number, number), offset)
    return rings


def _program(record: recording.Recorder, number_of: Callable[[int], int | None], moving: dict[int, int]) -> native.Program | None:
    """The steps of a record; None if a kernel reads or writes an array that is not known. `moving` has the numbers of arguments
    that move, by their identity.
    """
    program = native.Program()
    for step in record.steps:
        if step[0] is None:
            if not _add_product(program, number_of, *step[1:]):
                return None
            continue
        kernel, grid, block, arguments, shared = step
        parameters: list[int | bytes] = []
        for argument in arguments:
            if argument.__class__ is _ndarray:
                number = number_of(argument.data.ptr)
                if number is None:
                    return None
                parameters.append(number)
            elif isinstance(argument, recording.SLOTS):
                parameters.append(argument.place)
            elif id(argument) in moving:
                parameters.append(moving[id(argument)])
            elif isinstance(argument, (np.generic, np.ndarray)):
                parameters.append(argument.tobytes())
            else:
                return None
        if len(parameters) > native.MOST_PARAMETERS:
            return None
        program.launch(driver.address("cuLaunchKernel"), kernel, grid, block, shared, parameters)
    return program


def _add_product(program: native.Program, number_of: Callable[[int], int | None], arguments: tuple[int, ...], function: str,
                 description: Any, attributes: tuple[tuple[int, int], ...]) -> bool:
    """Whether a product has been added to `program`: all of its pointers are known."""
    words = list(arguments)
    for place in native.PRODUCTS[function]:
        number = number_of(arguments[place])
        if number is None:
            return False
        words[place] = number
    if description is not None:
        own = description.copy()
        words[native.DESCRIPTION] = own.value
        program.keep(own)
        for attribute, pointer in attributes:
            number = number_of(pointer)
            if number is None:
                return False
            program.attribute(driver.address("cublasLtMatmulDescSetAttribute"), own, attribute, number)
    program.product(function, driver.address(function), words)
    return True


def forget() -> None:
    """Forget all plans, and let go of the arrays in rings."""
    for plans in _caches:
        plans.clear()
    recycling.forget()


recording.forgetting.append(forget)
