"""Convolutions without gradients, whose weights are brought into the order of the tensor cores once and kept.

A weight is packed when it is used for the second time as it is, and again after it was written to (`versions`). Kept are those of
the stream in which they were packed, up to `LIMIT` bytes; what was made first goes first. In a capture, which will be
launched when the weight may be another one, packing is a part of the graph.
"""
from __future__ import annotations

import collections
import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any

import cupy
from lucid_kernels import tf32
from lucid_kernels.cuda.convolution import tensor_cores
from lucid_kernels.cuda.runtime import plans, recording

from .. import versions
from ..sizes import PACKED_WEIGHTS as LIMIT
from ..sizes import PACKED_WEIGHTS_SEEN as MOST_SEEN

Array = Any
Kernel = Callable[..., Any]
_State = tuple[int, int, int]

versions.kinds.add(cupy.ndarray)


class _Kept:
    """A packed weight, what it was made of, and whether there can be one."""

    __slots__ = ("packed", "serves", "source", "state")

    def __init__(self, source: weakref.ref[Array], state: _State) -> None:
        self.source, self.state, self.serves = source, state, True
        self.packed: Array | None = None


_kept: collections.OrderedDict[tuple[Any, ...], _Kept] = collections.OrderedDict()
_bytes = 0
_lock = threading.RLock()  # of what is changed; an array may die inside


def kept(plain: Kernel, relu: bool) -> Kernel:
    """`plain`, a convolution of images, with `relu` behind it, by weights that are kept where there are such."""
    def with_packed(x: Array, weight: Array, bias: Array | None, residual: Array | None, packed: Array, **attributes: Any) -> Any:
        return tensor_cores.convolve(x, weight, bias, residual, packed=packed, relu=relu, **attributes)

    planned = plans.planned(with_packed)

    @functools.wraps(getattr(plain, "__wrapped__", plain))
    def convolve(*arrays: Array, **attributes: Any) -> Any:
        if not versions.noted:
            return plain(*arrays, **attributes)
        state = versions.state(arrays[1]) if "out" not in attributes else None
        packed = None if state is None else _packed(arrays[0], arrays[1], state, attributes)
        if packed is None:
            return plain(*arrays, **attributes)
        return planned(*arrays, *[None] * (4 - len(arrays)), packed, **attributes)

    return convolve


def _packed(x: Array, weight: Array, state: _State, attributes: dict[str, Any]) -> Array | None:
    """The packed weight for a convolution of x; None if it is seen for the first time, or cannot be kept."""
    stream = cupy.cuda.get_current_stream()
    if recording.recorders or (stream.ptr and stream.is_capturing()):
        return None
    # The weight says the device.
    key = (id(weight), stream.ptr, x.shape, x.dtype.char, None if x._c_contiguous else x.strides, tf32.convolutions,
           *attributes.values())
    found = _kept.get(key)
    if found is not None and found.source() is weight and found.state == state:
        if found.packed is None and found.serves:
            with _lock:
                _fill(found, tensor_cores.packed_for(x, weight, **attributes))
        return found.packed
    with _lock:
        _remove(key)
        while len(_kept) >= MOST_SEEN:
            _remove(next(iter(_kept)))
        _kept[key] = _Kept(weakref.ref(weight, lambda _: _remove(key)), state)
    return None


def _fill(kept: _Kept, packed: Array | None) -> None:
    global _bytes
    kept.serves = packed is not None and packed.nbytes <= LIMIT
    if packed is None or not kept.serves:
        return
    while _bytes + packed.nbytes > LIMIT:
        _remove(next(key for key, other in _kept.items() if other.packed is not None))
    kept.packed = packed
    _bytes += packed.nbytes


def _remove(key: tuple[Any, ...]) -> None:
    global _bytes
    with _lock:
        found = _kept.pop(key, None)
        if found is not None and found.packed is not None:
            _bytes -= found.packed.nbytes


def forget() -> bool:
    """Let go of all packed weights, and whether there were any."""
    had = bool(_bytes)
    for key in list(_kept):
        _remove(key)
    return had


def _forget() -> None:
    forget()


recording.forgetting.append(_forget)
