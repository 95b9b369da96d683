"""`autocast`, its settings as functions, and `custom_fwd` and `custom_bwd` for operations of the user."""
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
from ._state import DEVICES, OTHERS, State, casts, kind_of, state

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

F = TypeVar("F", bound=Callable[..., Any])


class autocast:
    """Let operations choose their precision: products and convolutions run in `dtype`, losses and what needs range in float32.

    A context manager and decorator. Model and input stay float32; the lists of operations are PyTorch's, each for its device
    (https://docs.pytorch.org/docs/2.13/amp.html#autocast-op-reference). `dtype` is bfloat16 on a CPU and float16 on a GPU, unless
    given or set by `set_autocast_dtype`. With `cache_enabled` a parameter is cast once until the outermost autocast ends.
    Operations that write into a given tensor (`out=`, in place), and formulas of `lucid.fuse`, keep the dtypes they are given.
    `backward` belongs outside: gradients have the dtypes of the forward pass anyway.

    >>> model, x, target = nn.Linear(4, 3), lucid.randn(2, 4), lucid.tensor([0, 2])
    >>> with lucid.autocast("cpu", dtype=lucid.bfloat16):
    ...     output = model(x)
    ...     loss = F.cross_entropy(output, target)
    >>> loss.backward()
    >>> output.dtype == lucid.bfloat16, loss.dtype
    (True, dtype('float32'))
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
        setting: dict[str, Any] = {self._kind: self._enabled, f"{self._kind}_dtype": self.fast_dtype}
        _change(before._replace(**setting, cache_enabled=kept, nesting=before.nesting + 1))
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


def _change(after: State) -> None:
    """Make `after` the state of this context, and count the devices for which somebody has autocast on."""
    before = state.get()
    for kind in DEVICES:
        change = getattr(after, kind) - getattr(before, kind)
        if change:
            use(kind, change)
    state.set(after)


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is on for a kind of device; without one, for GPUs. It is off for kinds that lucid has no tensors on.

    >>> with lucid.autocast("cpu"):
    ...     print(lucid.is_autocast_enabled("cpu"))
    True
    >>> lucid.is_autocast_enabled("cpu")
    False
    """
    if device_type in OTHERS:
        return False
    enabled: bool = getattr(state.get(), kind_of("gpu" if device_type is None else device_type))
    return enabled


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Turn autocast on or off for a kind of device; with one argument, for GPUs.

    >>> lucid.set_autocast_enabled("cpu", True)
    >>> (lucid.ones(2, 2) @ lucid.ones(2, 2)).dtype == lucid.bfloat16
    True
    >>> lucid.set_autocast_enabled("cpu", False)
    """
    if enabled is None:
        device_type, enabled = "gpu", device_type
    setting: dict[str, Any] = {kind_of(device_type): bool(enabled)}
    _change(state.get()._replace(**setting))


def get_autocast_dtype(device_type: str) -> np.dtype:
    """The lower precision of autocast for a kind of device.

    >>> lucid.get_autocast_dtype("cpu") == lucid.bfloat16, lucid.get_autocast_dtype("cuda") == lucid.float16
    (True, True)
    """
    dtype: np.dtype = getattr(state.get(), f"{kind_of(device_type)}_dtype")
    return dtype


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set what `get_autocast_dtype` returns.

    >>> lucid.set_autocast_dtype("cpu", lucid.float16)
    >>> lucid.get_autocast_dtype("cpu")
    dtype('float16')
    >>> lucid.set_autocast_dtype("cpu", lucid.bfloat16)
    """
    setting: dict[str, Any] = {f"{kind_of(device_type)}_dtype": _dtypes.as_dtype(dtype)}
    state.set(state.get()._replace(**setting))


def is_autocast_available(device_type: str) -> bool:
    """Whether there is autocast for a kind of device.

    >>> lucid.amp.is_autocast_available("cpu"), lucid.amp.is_autocast_available("xla")
    (True, False)
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return device_type == "cuda" or device_type in DEVICES


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters are kept.

    >>> lucid.is_autocast_cache_enabled()
    True
    """
    return state.get().cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Say whether casts of parameters are kept.

    >>> lucid.set_autocast_cache_enabled(False)
    >>> lucid.is_autocast_cache_enabled()
    False
    >>> lucid.set_autocast_cache_enabled(True)
    """
    state.set(state.get()._replace(cache_enabled=bool(enabled)))


# PyTorch's older names, for one kind of device each.
def get_autocast_cpu_dtype() -> np.dtype:
    """`get_autocast_dtype` of the CPU.

    >>> lucid.get_autocast_cpu_dtype() == lucid.bfloat16
    True
    """
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> np.dtype:
    """`get_autocast_dtype` of GPUs.

    >>> lucid.get_autocast_gpu_dtype()
    dtype('float16')
    """
    return get_autocast_dtype("gpu")


def is_autocast_cpu_enabled() -> bool:
    """`is_autocast_enabled` of the CPU.

    >>> with lucid.autocast("cpu"):
    ...     print(lucid.is_autocast_cpu_enabled())
    True
    """
    return is_autocast_enabled("cpu")


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """`set_autocast_dtype` of the CPU.

    >>> lucid.set_autocast_cpu_dtype(lucid.float16)
    >>> lucid.get_autocast_cpu_dtype()
    dtype('float16')
    >>> lucid.set_autocast_cpu_dtype(lucid.bfloat16)
    """
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: Any) -> None:
    """`set_autocast_dtype` of GPUs.

    >>> lucid.set_autocast_gpu_dtype(lucid.bfloat16)
    >>> lucid.get_autocast_gpu_dtype() == lucid.bfloat16
    True
    >>> lucid.set_autocast_gpu_dtype(lucid.float16)
    """
    set_autocast_dtype("gpu", dtype)


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """`set_autocast_enabled` of the CPU.

    >>> lucid.set_autocast_cpu_enabled(True)
    >>> (lucid.ones(2, 2) @ lucid.ones(2, 2)).dtype == lucid.bfloat16
    True
    >>> lucid.set_autocast_cpu_enabled(False)
    """
    set_autocast_enabled("cpu", enabled)


def clear_autocast_cache() -> None:
    """Forget the casts of parameters of this thread.

    >>> lucid.clear_autocast_cache()
    """
    casts.made.clear()


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Callable[..., Any]:
    """Decorate the `forward` of an `autograd.Function` for autocast on a kind of device.

    Without `cast_inputs` it runs with the autocast that is on, which `custom_bwd` makes backward do too. With a dtype its
    floating-point tensors are cast to it and autocast is off within, if it was on at all.

    >>> class Half(lucid.autograd.Function):
    ...     @staticmethod
    ...     @lucid.amp.custom_fwd(device_type="cpu", cast_inputs=lucid.float32)
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @lucid.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> with lucid.autocast("cpu"):
    ...     print(Half.apply(lucid.ones(1, dtype=lucid.bfloat16)).dtype)
    float32
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


def custom_bwd(bwd: Any = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate the `backward` of an `autograd.Function` whose `forward` has `custom_fwd`: it runs with the same autocast.

    >>> class Half(lucid.autograd.Function):
    ...     @staticmethod
    ...     @lucid.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @lucid.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return g * 2
    >>> x = lucid.ones(2, requires_grad=True)
    >>> Half.apply(x).sum().backward()
    >>> x.grad
    Tensor([2.0, 2.0], requires_grad=False)
    """
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
