"""Switches of the process by PyTorch's names, also those for what lucid does not do, which say so."""
from __future__ import annotations

import builtins
import contextlib
import sys
import warnings
from types import ModuleType
from typing import Any

from .. import _determinism, _dtypes, backends
from ..autograd import grad_mode
from ..tensor import Tensor


def set_deterministic_debug_mode(debug_mode: builtins.int | str) -> None:
    """`use_deterministic_algorithms` by a name or a number: "default" or 0, "warn" or 1, "error" or 2.

    >>> lucid.set_deterministic_debug_mode("warn")
    >>> lucid.get_deterministic_debug_mode()
    1
    >>> lucid.set_deterministic_debug_mode(0)
    """
    names = ("default", "warn", "error")
    if not isinstance(debug_mode, builtins.int | str):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if debug_mode in names:
        debug_mode = names.index(debug_mode)
    if isinstance(debug_mode, str):
        raise RuntimeError(f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}")
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    _determinism.use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode() -> builtins.int:
    """The number of `set_deterministic_debug_mode`.

    >>> lucid.get_deterministic_debug_mode()
    0
    """
    if not _determinism.are_deterministic_algorithms_enabled():
        return 0
    return 1 if _determinism.is_deterministic_algorithms_warn_only_enabled() else 2


def set_default_tensor_type(t: Any, /) -> None:
    """Set the default dtype, and the default device, by a type of tensors or its name. Raises TypeError for types of integers,
    and where there is no GPU for those of a GPU.

    >>> lucid.set_default_tensor_type(lucid.DoubleTensor)
    >>> lucid.ones(1).dtype
    dtype('float64')
    >>> lucid.set_default_tensor_type("lucid.FloatTensor")
    """
    from ..ops.conversion import type_destination

    try:
        if isinstance(t, str):
            target = type_destination(t)
            dtype, place = target.dtype, "cpu" if target.device is None else target.device.type
        else:
            dtype, place = t.dtype, t._place
    except (AttributeError, ValueError):
        raise TypeError("invalid type object: only floating-point types are supported as the default type") from None
    if not _dtypes.is_floating(dtype):
        raise TypeError("only floating-point types are supported as the default type")
    if place != "cpu" and not backends.available():
        raise TypeError(f"type {t} not available: there is no GPU")
    _dtypes.set_default_dtype(dtype)
    backends.set_default_device(None if place == "cpu" else place)


def get_num_interop_threads() -> builtins.int:
    """The number of operations that run side by side: one.

    >>> lucid.get_num_interop_threads()
    1
    """
    return 1


def set_num_interop_threads(num: builtins.int) -> None:
    """One operation runs after the other, whatever the number. Raises RuntimeError for what is no positive integer.

    >>> lucid.set_num_interop_threads(4)
    """
    if isinstance(num, bool) or not isinstance(num, builtins.int):
        raise RuntimeError(f"set_num_interop_threads expects an int, but got {type(num).__name__}")
    if num < 1:
        raise RuntimeError("set_num_interop_threads expects a positive integer")


def init_num_threads() -> None:
    """Nothing: the threads of this process are those of `set_num_threads`.

    >>> lucid.init_num_threads()
    """


def set_flush_denormal(mode: builtins.bool) -> builtins.bool:
    """Whether the processor now does as `mode` says, which True asks to take the smallest numbers for 0: it never does, as in
    PyTorch on processors that cannot.

    >>> lucid.set_flush_denormal(True)
    False
    """
    if not isinstance(mode, builtins.bool):
        raise RuntimeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return not mode


def set_warn_always(b: builtins.bool, /) -> None:
    """Warnings are Python's: True lets each be shown, by `warnings.simplefilter`. False takes that back.

    >>> lucid.set_warn_always(False)
    """
    global _warn_always
    if not isinstance(b, builtins.bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type(b).__name__}")
    if b and not _warn_always:
        warnings.simplefilter("always")
    elif _warn_always and not b:
        with contextlib.suppress(ValueError):  # a context of `warnings.catch_warnings` has ended since
            warnings.filters.remove(_ALWAYS)  # type: ignore[attr-defined]
    _warn_always = b


_warn_always = False
_ALWAYS = ("always", None, Warning, None, 0)


def is_warn_always_enabled() -> builtins.bool:
    """What `set_warn_always` has been called with.

    >>> lucid.is_warn_always_enabled()
    False
    """
    return _warn_always


def get_device_module(device: Any = None) -> ModuleType:
    """The module of a device, given as a `lucid.device` or its name: `lucid.gpu` or `lucid.cpu`; without one that of the GPU,
    where there is one.

    >>> lucid.get_device_module("cuda").__name__
    'lucid.gpu'
    """
    if device is None:
        kind = "gpu" if backends.available() else "cpu"
    elif isinstance(device, str | backends.Device):
        kind = backends.Device(device).type
    else:
        raise RuntimeError(f"Invalid value of device '{device}', expect lucid.device, str, or None")
    module = getattr(sys.modules["lucid"], kind, None)
    if not isinstance(module, ModuleType):
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'lucid.{kind}'.")
    return module


def set_anomaly_enabled(mode: builtins.bool, check_nan: builtins.bool = True) -> None:
    """`autograd.set_detect_anomaly`, which is the same as a context manager too.

    >>> lucid.set_anomaly_enabled(True)
    >>> lucid.is_anomaly_enabled()
    True
    >>> lucid.set_anomaly_enabled(False)
    """
    grad_mode.set_detect_anomaly(mode, check_nan)


def is_anomaly_check_nan_enabled() -> builtins.bool:
    """Whether `detect_anomaly` looks for NaN: True unless it was called with ``check_nan=False``.

    >>> lucid.is_anomaly_check_nan_enabled()
    True
    """
    flags = grad_mode.mode.get()
    return bool(flags & grad_mode.CHECK_NAN) or not flags & grad_mode.ANOMALY


def is_distributed(input: Tensor) -> builtins.bool:
    """Whether a tensor lies on several machines: False.

    >>> lucid.is_distributed(lucid.ones(1))
    False
    """
    return input.is_distributed()


def is_vulkan_available() -> builtins.bool:
    """False: lucid computes on CPUs and CUDA's GPUs.

    >>> lucid.is_vulkan_available()
    False
    """
    return False
