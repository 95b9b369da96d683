"""Devices by name: 'cpu', 'gpu', 'gpu:1' and 'meta'; 'cuda' is accepted for 'gpu'."""
from __future__ import annotations

import os
from contextvars import ContextVar
from typing import Any


class Device:
    """Where a tensor's memory is. Compares equal to its name: ``tensor.device == 'gpu'``.

    `type` is 'cpu', 'gpu' or 'meta'; `index` is the GPU's number and None for the others. `Device('gpu')` is the current GPU:
    number 0, unless `lucid.gpu.set_device` chose another one. Tensors on 'meta' have shape and dtype but no
    memory. In ``with Device('gpu'): ...`` it is the device of new tensors.

    >>> lucid.device("cpu"), lucid.device("gpu", 0).index, lucid.device(type="cpu")
    (device(type='cpu'), 0, device(type='cpu'))
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __init__(self, name: str | int | Device = "cpu", index: int | None = None, *, type: str | None = None,
                 device: str | int | Device | None = None) -> None:
        if type is not None or device is not None:  # PyTorch's names of the first argument
            name = device if type is None else type  # type: ignore[assignment]
        if isinstance(name, Device):
            name._require_memory()
            if index is None:
                self.type, self.index = name.type, name.index
                return
            name = name.type
        elif isinstance(name, int) and not isinstance(name, bool):
            index = name
            name = "gpu"
        elif not isinstance(name, str):
            raise TypeError(f"device must be a string, an integer or a lucid.device, not {name.__class__.__name__}")
        kind, _, number = name.partition(":")
        if number:
            if not number.isdigit():
                raise RuntimeError(f"Invalid device string: {name!r}")
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed: {name!r}")
            index = int(number)
        if kind == "cuda":
            kind = "gpu"
        if kind in _names_only:
            self.type, self.index, self.__class__ = kind, index, _Name
            return
        if kind not in ("cpu", "gpu", "meta"):
            raise RuntimeError(f"Expected one of cpu, gpu (or its alias cuda), meta as device type, got {name!r}")
        if kind == "cpu" and index not in (None, 0):
            raise RuntimeError(f"the cpu has no index {index}")
        self.type = _type_names.get(kind, kind)
        self.index = None if kind != "gpu" else _current_gpu.get() if index is None else index

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            try:
                other = Device(other)
            except RuntimeError:
                return False
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (str(self),)

    def _require_memory(self) -> None:
        """Raise RuntimeError for a device that is only a name."""

    def __enter__(self) -> Device:
        self._require_memory()
        _outer.set((*_outer.get(), _default.get()))
        _default.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        *outer, before = _outer.get()
        _outer.set(tuple(outer))
        _default.set(before)


class _Name(Device):
    """A device that programs may name and compare with others, but where no tensor can be."""

    __slots__ = ()

    def _require_memory(self) -> None:
        raise RuntimeError(f"there is no device '{self}' here, but cpu, gpu (or its alias cuda) and meta")


#: Other kinds of devices that have a name: `lucid.torch` puts PyTorch's there.
_names_only: set[str] = set()
#: What `type` says for a kind of device: `lucid.torch` puts a text for 'gpu' that reads 'cuda' and equals both.
_type_names: dict[str, str] = {}
_current_gpu: ContextVar[int] = ContextVar("lucid_current_gpu", default=0)
_CPU = Device("cpu")
# Read once: to look into the environment takes as long as to make a small tensor.
_variable = os.environ.get("LUCID_DEVICE")
_default: ContextVar[Device | None] = ContextVar("lucid_default_device", default=None)
_outer: ContextVar[tuple[Device | None, ...]] = ContextVar("lucid_outer_devices", default=())  # of the `with` blocks around


def chosen_device() -> Device | None:
    """The default device that somebody chose: by `with device:` or `set_default_device`, else by LUCID_DEVICE as it was when
    lucid was imported; or None.
    """
    return _default.get() or (Device(_variable) if _variable else None)


def default_device() -> Device:
    """The device of new tensors: the one that was chosen, else 'cpu'.

    >>> lucid.get_default_device()
    device(type='cpu')
    """
    return chosen_device() or _CPU


def current_gpu() -> int:
    """The number of the GPU that 'gpu' without a number is."""
    return _current_gpu.get()


def set_current_gpu(index: int) -> None:
    """Make GPU `index` the one that 'gpu' without a number is, in this context."""
    _current_gpu.set(index)


def set_default_device(device: str | Device | None) -> None:
    """Make `device` the device of new tensors in this context; None returns to LUCID_DEVICE, or 'cpu'.

    >>> lucid.set_default_device("meta")
    >>> lucid.zeros(2).device
    device(type='meta')
    >>> lucid.set_default_device(None)
    """
    _default.set(None if device is None else Device(device))
