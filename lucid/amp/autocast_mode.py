"""`autocast` and what goes with it: the settings as functions, and `custom_fwd` and `custom_bwd` for operations of the user."""
from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from .. import _dtypes, gpu
from ._casts import cast_to, mapped
from ._interception import use
from ._state import DEVICES, State, casts, kind_of, state

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

F = TypeVar("F", bound=Callable[..., Any])


class autocast:
    """Let operations choose their precision: products and convolutions run in `dtype`, losses and what needs range in float32.

    A context manager and decorator. Model and input stay float32; the lists of operations are PyTorch's, each for its device
    (https://docs.pytorch.org/docs/2.13/amp.html#autocast-op-reference). `dtype` is bfloat16 on a CPU and float16 on a GPU, unless
    given or set by `set_autocast_dtype`. With `cache_enabled` a parameter is cast once until the outermost autocast ends.
    Operations that write into a given tensor (`out=`, in place), and formulas of `lucid.fuse`, keep the dtypes they are given.
    `backward` belongs outside: gradients have the dtypes of the forward pass anyway.

    >>> with lucid.autocast("cpu", dtype=lucid.bfloat16):
    ...     loss = F.cross_entropy(model(x), target)
    >>> loss.backward()
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None) -> None:
        kind = self._kind = kind_of(device_type)
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(kind) if dtype is None else _dtypes.as_dtype(dtype)
        self._cache_enabled = cache_enabled
        self._enabled = bool(enabled)
        if self._enabled and kind == "gpu" and not gpu.is_available():
            warnings.warn("User provided device_type of 'cuda', but CUDA is not available. Disabling", stacklevel=2)
            self._enabled = False
        if self._enabled and self.fast_dtype not in DEVICES[kind]:
            name = "CPU" if kind == "cpu" else "CUDA"
            supported = ", ".join(f"lucid.{dtype.name}" for dtype in DEVICES[kind])
            warnings.warn(f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                          f"{name} Autocast only supports dtype of {supported} currently.", stacklevel=2)
            self._enabled = False
        self._before: list[State] = []

    def __enter__(self) -> autocast:
        before = state.get()
        self._before.append(before)
        kept = before.cache_enabled if self._cache_enabled is None else self._cache_enabled
        _change(before._replace(**_setting(self._kind, self._enabled, self.fast_dtype), cache_enabled=kept,
                                nesting=before.nesting + 1))
        return self

    def __exit__(self, *exception: Any) -> None:
        before = self._before.pop()
        _change(before)
        if not before.nesting:
            casts.made.clear()

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def decorated(*args: Any, **keywords: Any) -> Any:
            # A fresh one: several threads may be in the function.
            with autocast(self.device, self.fast_dtype, self._enabled, self._cache_enabled):
                return function(*args, **keywords)

        return decorated  # type: ignore[return-value]


def _setting(kind: str, enabled: bool, dtype: np.dtype) -> dict[str, Any]:
    return {kind: enabled, f"{kind}_dtype": dtype}


def _change(after: State) -> None:
    """Make `after` the state of this context, and count the devices for which somebody has autocast on."""
    before = state.get()
    for kind in DEVICES:
        change = getattr(after, kind) - getattr(before, kind)
        if change:
            use(kind, change)
    state.set(after)


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is on for a kind of device; without one, for GPUs."""
    enabled: bool = getattr(state.get(), kind_of("gpu" if device_type is None else device_type))
    return enabled


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Turn autocast on or off for a kind of device; with one argument, for GPUs."""
    if enabled is None:
        device_type, enabled = "gpu", device_type
    setting: dict[str, Any] = {kind_of(device_type): bool(enabled)}
    _change(state.get()._replace(**setting))


def get_autocast_dtype(device_type: str) -> np.dtype:
    """The lower precision of autocast for a kind of device."""
    dtype: np.dtype = getattr(state.get(), f"{kind_of(device_type)}_dtype")
    return dtype


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set what `get_autocast_dtype` returns."""
    setting: dict[str, Any] = {f"{kind_of(device_type)}_dtype": _dtypes.as_dtype(dtype)}
    state.set(state.get()._replace(**setting))


def is_autocast_available(device_type: str) -> bool:
    """Whether there is autocast for a kind of device."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return device_type == "cuda" or device_type in DEVICES


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters are kept."""
    return state.get().cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Say whether casts of parameters are kept."""
    state.set(state.get()._replace(cache_enabled=bool(enabled)))


# PyTorch's older names, for one kind of device each.
def get_autocast_cpu_dtype() -> Any:
    """`get_autocast_dtype` of the CPU."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> Any:
    """`get_autocast_dtype` of GPUs."""
    return get_autocast_dtype("gpu")


def is_autocast_cpu_enabled() -> bool:
    """`is_autocast_enabled` of the CPU."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """`set_autocast_dtype` of the CPU."""
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: Any) -> None:
    """`set_autocast_dtype` of GPUs."""
    set_autocast_dtype("gpu", dtype)


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """`set_autocast_enabled` of the CPU."""
    set_autocast_enabled("cpu", enabled)


def clear_autocast_cache() -> None:
    """Forget the casts of parameters of this thread."""
    casts.made.clear()


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorate the `forward` of an `autograd.Function` for autocast on a kind of device.

    Without `cast_inputs` it runs with the autocast that is on, which `custom_bwd` makes backward do too. With a dtype its
    floating-point tensors are cast to it and autocast is off within, if it was on at all.

    >>> @staticmethod
    ... @lucid.amp.custom_fwd(device_type="cuda", cast_inputs=lucid.float32)
    ... def forward(ctx, x): ...
    """
    kind = kind_of(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args: Any, **keywords: Any) -> Any:
        ctx = args[0]
        ctx._dtype = get_autocast_dtype(kind)
        if cast_inputs is None:
            ctx._fwd_used_autocast = is_autocast_enabled(kind)
            return fwd(*args, **keywords)
        on = is_autocast_enabled(kind)
        ctx._fwd_used_autocast = False
        if not on:
            return fwd(*args, **keywords)
        cast = cast_to(_dtypes.as_dtype(cast_inputs), kind)
        with autocast(kind, enabled=False):
            return fwd(*[mapped(value, cast) for value in args], **{k: mapped(v, cast) for k, v in keywords.items()})

    return decorated


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorate the `backward` of an `autograd.Function` whose `forward` has `custom_fwd`: it runs with the same autocast."""
    kind = kind_of(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **keywords: Any) -> Any:
        with autocast(kind, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **keywords)

    return decorated


@contextlib.contextmanager
def preserved(before: State) -> Iterator[None]:
    """Autocast as it was, for what is computed again; casts that are kept belong to this context alone."""
    now = state.get()
    made, casts.made = casts.made, {}
    _change(before)
    try:
        yield
    finally:
        casts.made = made
        _change(now)
