"""Activation checkpointing: what a function saves for its gradients is computed again in backward, in place of being kept.

>>> from lucid.utils.checkpoint import checkpoint
>>> x = lucid.ones(2, requires_grad=True)
>>> checkpoint(lambda x: (x * x).exp().sum(), x, use_reentrant=False).backward()
>>> x.grad
Tensor([5.4366, 5.4366], requires_grad=False)
"""
from __future__ import annotations

import contextlib
import functools
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, TypeVar

from .._random import get_rng_state, set_rng_state
from ..autograd import backward, enable_grad, saving
from ..autograd.function import Function
from ..autograd.grad_mode import is_grad_enabled
from ..random import fork_rng
from ..tensor import Tensor
from .device_states import (
    DefaultDeviceType,
    check_backward_validity,
    detach_variable,
    get_device_states,
    set_device_states,
)
from .selective_checkpoint import (
    CheckpointPolicy,
    Reading,
    Saving,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = ["CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType", "SelectiveCheckpointContext",
           "check_backward_validity", "checkpoint", "checkpoint_sequential", "create_selective_checkpoint_contexts",
           "detach_variable", "get_device_states", "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop",
           "set_device_states"]

Result = TypeVar("Result")
Contexts = Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]]
_early_stop: ContextVar[bool | None] = ContextVar("lucid_checkpoint_early_stop", default=None)


class CheckpointError(RuntimeError):
    """A function that was computed again has not saved what it saved before.

    >>> issubclass(lucid.utils.checkpoint.CheckpointError, RuntimeError)
    True
    """


class _Stop(Exception):
    """Raised through a function that is computed again when all that was saved is there."""


def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """Two contexts that do nothing: the default of `context_fn`.

    >>> first, second = lucid.utils.checkpoint.noop_context_fn()
    >>> with first, second:
    ...     print("as before")
    as before
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Say of the checkpoints made inside whether computing again stops as soon as all saved tensors are there.

    >>> with lucid.utils.checkpoint.set_checkpoint_early_stop(False):
    ...     y = lucid.utils.checkpoint.checkpoint(lucid.exp, lucid.zeros(1, requires_grad=True), use_reentrant=False)
    >>> y
    Tensor([1.0], requires_grad=True)
    """
    token = _early_stop.set(enable)
    try:
        yield
    finally:
        _early_stop.reset(token)


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Accepted for PyTorch's sake: errors name the tensors that differ, and there is no log of operations.

    >>> with lucid.utils.checkpoint.set_checkpoint_debug_enabled(True):
    ...     y = lucid.utils.checkpoint.checkpoint(lucid.exp, lucid.zeros(1, requires_grad=True), use_reentrant=False)
    >>> y
    Tensor([1.0], requires_grad=True)
    """
    yield


class _CallState:
    """The random numbers and autocast that a function was called with, to be had again."""

    def __init__(self, preserve_rng_state: bool) -> None:
        from ..amp._state import state

        self.autocast = state.get()
        self.rng = get_rng_state() if preserve_rng_state else None

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        from ..amp.autocast_mode import preserved

        with fork_rng(enabled=self.rng is not None), preserved(self.autocast):
            if self.rng is not None:
                set_rng_state(self.rng)
            yield


def checkpoint(function: Callable[..., Result], *args: Any, use_reentrant: bool | None = None,
               context_fn: Contexts = noop_context_fn, determinism_check: str = "default", debug: bool = False,
               early_stop: bool = True, **kwargs: Any) -> Result:
    """``function(*args, **kwargs)``, without the memory for its gradients: it is called again when they are computed.

    Random numbers (unless ``preserve_rng_state=False``) and autocast are those of the first call. ``use_reentrant=False`` is
    recommended: it takes keyword arguments, arguments and results of any kind, `autograd.grad`, and nested checkpoints; the
    second call runs in the second of the two contexts of `context_fn`, and stops when all is there unless `early_stop` is False.
    A second call that saves other tensors raises CheckpointError; with ``determinism_check="none"`` their shapes, dtypes and
    devices may differ. ``use_reentrant=True``, the default with a warning, runs the function in `no_grad` first and needs a
    tensor among its arguments that requires grad. `debug` changes nothing: see `set_checkpoint_debug_enabled`.

    >>> block, x = nn.Sequential(nn.Linear(2, 2), nn.Tanh()), lucid.ones(1, 2, requires_grad=True)
    >>> y = lucid.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
    >>> y.sum().backward()
    >>> x.grad.shape
    lucid.Size([1, 2])
    """
    if use_reentrant is None:
        warnings.warn("lucid.utils.checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False is "
                      "recommended; use_reentrant=True is the default.", stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        return _without_reentrance(function, args, kwargs, preserve, context_fn, determinism_check, early_stop)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


def checkpoint_sequential(functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Call `functions`, a Sequential or a list, one after the other, in `segments` of which all but the last are checkpoints.

    >>> model, x = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1)), lucid.ones(1, 2, requires_grad=True)
    >>> y = lucid.utils.checkpoint.checkpoint_sequential(model, 2, x, use_reentrant=False)
    >>> lucid.equal(y, model(x))
    True
    """
    if use_reentrant is None:
        warnings.warn("lucid.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. "
                      "use_reentrant=False is recommended; use_reentrant=True is the default.", stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    listed = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(listed) // segments
    for start in range(0, size * (segments - 1), size) if size else ():
        input = checkpoint(functools.partial(_in_turn, listed[start:start + size]), input, use_reentrant=use_reentrant,
                           preserve_rng_state=preserve)
    return _in_turn(listed[size * (segments - 1):], input)


def _in_turn(functions: Sequence[Callable[[Any], Any]], input: Any) -> Any:
    for function in functions:
        input = function(input)
    return input


# ---- by hooks on saved tensors -------------------------------------------------------------------------------------------
class _Placeholder:
    """Stands in the graph for a saved tensor, by its number. `meta` is what it must look like when it comes again."""

    __slots__ = ("__weakref__", "meta", "number", "tensor")

    def __init__(self, number: int, tensor: Tensor) -> None:
        self.number = number
        self.meta = tuple(tensor.shape), tensor.dtype, tensor.device
        self.tensor: Tensor | None = None


class _Argument:
    """A tensor among the arguments, as hooks around the checkpoint keep it: those of another checkpoint drop it."""

    def __init__(self, tensor: Tensor) -> None:
        self.kept: Any = saving.Kept(tensor, tensor._node) if saving.are_active() and is_grad_enabled() else tensor
        self.requires_grad = tensor.requires_grad

    def again(self) -> Tensor:
        tensor = self.kept.tensor() if isinstance(self.kept, saving.Kept) else self.kept
        detached: Tensor = tensor.detach()
        return detached.requires_grad_(self.requires_grad)


class _Frame:
    """A call that can be made again."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any, surroundings: _CallState,
                 context: AbstractContextManager[Any], early_stop: bool, check: bool) -> None:
        self.function = function
        self.args, self.kwargs = ([_Argument(v) if isinstance(v, Tensor) else v for v in args],
                                  {k: _Argument(v) if isinstance(v, Tensor) else v for k, v in kwargs.items()})
        self.surroundings, self.context, self.early_stop, self.check = surroundings, context, early_stop, check
        self.places: list[weakref.ref[_Placeholder]] = []  # the graph holds them as long as they are needed
        self.kept: list[_Placeholder] | None = None  # inside of an operation whose result may be kept: what it saves
        self.count = 0  # of the tensors that are there again

    def pack(self, tensor: Tensor) -> _Placeholder:
        place = _Placeholder(len(self.places), tensor)
        self.places.append(weakref.ref(place))
        if self.kept is not None:
            place.tensor = tensor
            self.kept.append(place)
        return place

    @contextlib.contextmanager
    def keeping(self) -> Iterator[list[_Placeholder]]:
        """Keep what is saved inside; yields the places of that."""
        places: list[_Placeholder] = []
        self.kept = places
        try:
            yield places
        finally:
            self.kept = None

    def skip(self, saved: int) -> None:
        """Go on after an operation that is not computed again, and has saved so many tensors."""
        self.count += saved
        if self.early_stop and self.count == len(self.places) and saved:
            raise _Stop

    def unpack(self, place: _Placeholder) -> Tensor:
        if place.tensor is None:
            self._compute_again()
        tensor, place.tensor = place.tensor, None  # the next backward of a graph that is retained computes it again
        if tensor is None:
            raise CheckpointError("lucid.utils.checkpoint: A different number of tensors was saved during the original forward "
                                  f"and recomputation: tensor {place.number} of {len(self.places)} was not saved again.")
        return tensor

    def _compute_again(self) -> None:
        self.count = 0

        def pack(tensor: Tensor) -> Tensor:
            place = self.places[self.count]() if self.count < len(self.places) else None
            if place is not None:
                self._compare(place, tensor)
                place.tensor = tensor
            self.count += 1
            if self.early_stop and self.count == len(self.places):
                raise _Stop
            return tensor

        args = [v.again() if isinstance(v, _Argument) else v for v in self.args]
        kwargs = {k: v.again() if isinstance(v, _Argument) else v for k, v in self.kwargs.items()}
        with (contextlib.suppress(_Stop), self.surroundings.again(), self.context, enable_grad(),
              saving.saved_tensors_hooks(pack, _itself)):
            self.function(*args, **kwargs)
        if self.count != len(self.places):
            raise CheckpointError("lucid.utils.checkpoint: A different number of tensors was saved during the original forward "
                                  f"and recomputation.\nNumber of tensors saved during forward: {len(self.places)}\n"
                                  f"Number of tensors saved during recomputation: {self.count}.")

    def _compare(self, place: _Placeholder, tensor: Tensor) -> None:
        meta = tuple(tensor.shape), tensor.dtype, tensor.device
        if self.check and meta != place.meta:
            raise CheckpointError("lucid.utils.checkpoint: Recomputed values for the following tensors have different metadata "
                                  f"than during the forward pass.\ntensor at position {place.number}:\n"
                                  f"saved metadata: {_described(place.meta)}\nrecomputed metadata: {_described(meta)}")


def _described(meta: Any) -> str:
    shape, dtype, device = meta
    return f"shape {list(shape)}, {dtype.name}, on {device}"


def _itself(tensor: Tensor) -> Tensor:
    return tensor


def _without_reentrance(function: Callable[..., Any], args: Any, kwargs: Any, preserve: bool, context_fn: Contexts,
                        determinism_check: str, early_stop: bool) -> Any:
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    forward_context, again_context = context_fn()
    if not is_grad_enabled():
        with forward_context:
            return function(*args, **kwargs)
    stop = _early_stop.get()
    frame = _Frame(function, args, kwargs, _CallState(preserve), again_context, early_stop if stop is None else stop,
                   determinism_check == "default")
    for context in (forward_context, again_context):
        if isinstance(context, (Saving, Reading)):
            context.frame = frame
    with saving.saved_tensors_hooks(frame.pack, frame.unpack), forward_context:
        return function(*args, **kwargs)


# ---- by a function of the user -------------------------------------------------------------------------------------------
class CheckpointFunction(Function):
    """``CheckpointFunction.apply(function, preserve_rng_state, *args)``: `checkpoint` with `use_reentrant`.

    >>> x = lucid.ones(2, requires_grad=True)
    >>> y = lucid.utils.checkpoint.CheckpointFunction.apply(lucid.exp, True, x)
    >>> y.sum().backward()
    >>> x.grad
    Tensor([2.7183, 2.7183], requires_grad=False)
    """

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """Call `run_function` without a graph."""
        if not any(isinstance(v, Tensor) and v.requires_grad for v in args):
            warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)
        ctx.run_function, ctx.surroundings = run_function, _CallState(preserve_rng_state)
        ctx.inputs = [None if isinstance(v, Tensor) else v for v in args]
        ctx.places = [place for place, v in enumerate(args) if isinstance(v, Tensor)]
        ctx.save_for_backward(*[args[place] for place in ctx.places])
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Call it again, with a graph, and go through that."""
        inputs, saved = list(ctx.inputs), ctx.saved_tensors
        for place, tensor in zip(ctx.places, saved, strict=True):
            inputs[place] = tensor.detach().requires_grad_(tensor.requires_grad)
        with ctx.surroundings.again(), enable_grad():
            outputs = ctx.run_function(*inputs)
        pairs = [(y, g) for y, g in zip(outputs if isinstance(outputs, (tuple, list)) else (outputs,), grad_outputs, strict=True)
                 if isinstance(y, Tensor) and y.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([y for y, _ in pairs], [g for _, g in pairs])
        return (None, None, *[v.grad if isinstance(v, Tensor) else None for v in inputs])
