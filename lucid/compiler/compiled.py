"""`compile`: functions and modules that are recorded twice, and replayed from then on.

The first two calls with a signature run eagerly under a recorder. If both ran the same kernels on the same tensors with the
same attributes, the third one replays them. So what a recorder cannot see, such as a number of Python that is another one at
each call, is found out before anything depends on it.
"""
from __future__ import annotations

import functools
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _clock as clock
from .. import _dtypes, _recording, backends
from .._pytree import tree_flatten
from ..amp._state import OFF
from ..amp._state import state as autocast
from ..autograd.grad_mode import GRAD, INFERENCE
from ..autograd.grad_mode import mode as grad_mode
from ..backends.device import current_gpu
from ..nn.modules.module import Module
from ..nn.modules.module.global_hooks import around_calls
from ..overrides.state import state as overrides
from ..tensor import Tensor
from .plan import Plan, differences, layout
from .recorder import GraphBreak, Recorder, notice_printing
from .watch import PLAIN, Environment, Unwatchable, same

RECOMPILE_LIMIT = 8  # signatures of one function, as in PyTorch
_WAITING = 4  # recordings of a signature that wait for a second one like them: those of training, of evaluation


class _Signature:
    """What has been recorded for the calls of one signature."""

    __slots__ = ("calls", "held", "plans", "recorded")

    def __init__(self, held: Any) -> None:
        self.held = held  # objects whose identity is part of the signature
        self.plans: list[Plan] = []
        self.recorded: list[Recorder] = []  # first recordings, which wait for second ones like them
        self.calls = 0


class Compiled:
    """A function that is recorded and replayed; see `compile`. `plans` are those there are."""

    def __init__(self, function: Callable[..., Any], fullgraph: bool, verify: int, recompile_limit: int) -> None:
        functools.update_wrapper(self, function, updated=())
        if not hasattr(self, "__name__"):  # of a module, or another object that is called
            self.__name__ = type(function).__name__
        self._compiled_function = function
        self._options = (fullgraph, verify, recompile_limit)
        self._signatures: dict[Any, _Signature] = {}
        self._eager: str | None = None  # why the function always runs eagerly
        self._full = False
        self._replays = 0
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        # The plans stay behind. A method is looked up by name when a pickle is read, and would be found here: its parts are not.
        function = self._compiled_function
        parts = (function.__func__, function.__self__) if isinstance(function, types.MethodType) else (function, None)
        return object.__new__, (Compiled,), (*parts, self._options)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        function, instance, options = state
        self.__init__(function if instance is None else types.MethodType(function, instance), *options)  # type: ignore[misc]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    @property
    def plans(self) -> list[Plan]:
        """The plans, one for each signature that has been recorded."""
        return [plan for signature in self._signatures.values() for plan in signature.plans]

    def summary(self) -> str:
        """The summaries of all plans, or why there is none."""
        if self._eager is not None:
            return f"runs eagerly: {self._eager}"
        return "\n\n".join(plan.summary() for plan in self.plans) or "nothing has been recorded twice yet"

    def reset(self) -> None:
        """Forget all plans."""
        self._signatures.clear()
        self._eager, self._full = None, False

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if (self._eager is not None or clock.levels or around_calls or grad_mode.get() & ~_COMMON or backends.is_observed()
                or _recording.current() is not None or not self._lock.acquire(blocking=False)):
            return self._compiled_function(*args, **keywords)  # also while another thread replays or records
        try:
            return self._called(args, keywords)
        finally:
            self._lock.release()

    def _called(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if overrides.get().modes:  # which shall see each operation
            return self._compiled_function(*args, **keywords)
        if not keywords and all(arg.__class__ is Tensor for arg in args):
            leaves, shape = [*args], None  # mostly
        else:
            leaves, spec = tree_flatten((args, keywords))
            shape = _shape_of(spec)
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        key, held = self._key(leaves, shape)
        signature = self._signatures.get(key)
        if signature is not None:
            for plan in signature.plans:
                if plan.holds(tensors):
                    self._replays += 1
                    verify = self._options[1]
                    if verify and self._replays % verify == 0:
                        return self._verified(plan, args, keywords, leaves, tensors)
                    return plan.run(tensors)
        if self._full:
            return self._compiled_function(*args, **keywords)
        if signature is None:
            if len(self._signatures) >= self._options[2]:
                self._limit()
                return self._compiled_function(*args, **keywords)
            signature = self._signatures[key] = _Signature(held)
        return self._record(signature, args, keywords, leaves, tensors)

    def _key(self, leaves: list[Any], shape: Any) -> tuple[Any, Any]:
        key: list[Any] = [*_context(), shape, len(leaves)]
        held = []
        first: dict[int, int] = {}
        for number, leaf in enumerate(leaves):
            if isinstance(leaf, Tensor):
                array, grad = leaf._array, leaf._grad
                key.append((leaf.__class__, layout(array) if not leaf.is_meta else None, leaf._node is not None, leaf.is_leaf,
                            _has_hooks(leaf),
                            None if grad is None else layout(grad._array), leaf._view is not None,
                            first.setdefault(id(array), number)))
            elif isinstance(leaf, PLAIN) and not isinstance(leaf, slice):
                key.append((leaf.__class__, repr(leaf) if leaf.__class__ in (float, complex) else leaf))
            elif isinstance(leaf, np.generic):
                key.append((leaf.dtype, leaf.tobytes()))
            else:
                key.append((leaf.__class__, id(leaf)))
                held.append(leaf)
        return tuple(key), held

    # ---- recording -----------------------------------------------------------------------------------------------
    def _record(self, signature: _Signature, args: Any, keywords: Any, leaves: list[Any], tensors: list[Tensor]) -> Any:
        try:
            recorder, result = self._recorded(args, keywords, leaves, tensors)
        except Unwatchable as error:
            self._give_up(str(error))
            return self._compiled_function(*args, **keywords)
        if recorder.reason is not None:
            self._give_up(recorder.reason)
            return result
        signature.calls += 1
        first = next((other for other in signature.recorded if _alike(other, recorder)), None)
        if first is None:  # gradients or structure were others: these are not of one plan
            signature.recorded = [*signature.recorded[1 - _WAITING:], recorder]
            if signature.calls > 2 * self._options[2]:
                self._limit()
            return result
        difference = differences(first, recorder)
        if difference is not None:
            self._give_up(difference)
            return result
        signature.plans.append(Plan(recorder))
        signature.recorded.remove(first)
        if len(self.plans) > self._options[2]:
            signature.plans.pop()
            self._limit()
        return result

    def _recorded(self, args: Any, keywords: Any, leaves: list[Any], tensors: list[Tensor]) -> tuple[Recorder, Any]:
        """The recording of one eager call, and what it returns."""
        others = tuple(leaf for leaf in leaves if not isinstance(leaf, Tensor))
        recorder = Recorder(Environment((self._compiled_function, *others)), tensors, self._options[0])
        context = _context()
        if any(t._node is not None and not t.is_leaf for t in tensors):
            recorder.refuse("an argument has a gradient that leads out of the function")
        if any(map(_has_hooks, tensors)):
            recorder.refuse("an argument has hooks")
        if any(t.is_meta for t in tensors):
            recorder.refuse("an argument has no elements")
        token = _recording.recorder.set(recorder)
        _recording.count(1)
        try:
            with backends.observe(recorder.kernel), notice_printing():
                result = self._compiled_function(*args, **keywords)
            if not _unchanged(args, keywords, leaves):
                recorder.refuse("it changes a container among its arguments")
            if _context() != context:
                recorder.refuse("it changes the gradient mode, the default dtype or device, or autocast, for what runs after it")
            recorder.finish(result)
        finally:
            _recording.count(-1)
            _recording.recorder.reset(token)
        return recorder, result

    def _verified(self, plan: Plan, args: Any, keywords: Any, leaves: list[Any], tensors: list[Tensor]) -> Any:
        """An eager call, recorded and compared with the plan. Raises RuntimeError that names the first step that differs."""
        recorder, result = self._recorded(args, keywords, leaves, tensors)
        difference = recorder.reason or differences(plan.recorder, recorder)
        if difference is not None:
            raise RuntimeError(f"lucid.compile(verify={self._options[1]}): the plan is no longer what the function computes: "
                               f"{difference}")
        return result

    def _give_up(self, reason: str) -> None:
        self._eager = reason
        self._signatures.clear()
        if self._options[0]:
            raise GraphBreak(f"lucid.compile(fullgraph=True): {reason}")
        warnings.warn(f"lucid.compile: {self.__name__} runs eagerly from now on. {reason}", UserWarning, stacklevel=4)

    def _limit(self) -> None:
        self._full = True
        for signature in self._signatures.values():
            signature.recorded = []
        warnings.warn(f"lucid.compile: {self.__name__} has reached its recompile_limit of {self._options[2]} plans; calls with "
                      "other signatures run eagerly", UserWarning, stacklevel=4)

    __name__: str


_COMMON = GRAD | INFERENCE  # modes that change nothing but what is computed


def _context() -> tuple[Any, ...]:
    """The modes in which a function is called."""
    casts = autocast.get()
    return grad_mode.get(), _dtypes.get_default_dtype(), backends.chosen_device(), current_gpu(), None if casts is OFF else casts


def _has_hooks(tensor: Tensor) -> bool:
    node = tensor._node
    return node is not None and bool(node.hooks or getattr(node, "post_accumulate_hooks", None))


def _unchanged(args: Any, keywords: Any, leaves: list[Any]) -> bool:
    """Whether the containers among the arguments still hold the same `leaves`."""
    now, _ = tree_flatten((args, keywords))
    return len(now) == len(leaves) and all(a is b for a, b in zip(now, leaves, strict=True))


def _shape_of(spec: Any) -> Any:
    """How arguments are nested, as something with a hash."""
    return spec.type, repr(spec.context), tuple(map(_shape_of, spec.children_specs))


def _alike(first: Recorder, second: Recorder) -> bool:
    """Whether two recordings began with the same places and the same gradients."""
    replaced = {(id(event[1][1]), event[1][2]) for event in second.events if event[0] == "variable"}
    mine = {(id(c), str(k), get.__name__): content for get, c, k, content in first.environment.places}
    for get, container, key, content in second.environment.places:
        if (id(container), key) not in replaced and not same(
                mine.get((id(container), str(key), get.__name__), first), content):
            return False
    for key, (_, grad, array, leaf) in second._before.items():
        before = first._before.get(key)
        if before is not None and (before[3] != leaf or (before[1] is None) is not (grad is None) or (
                grad is not None and layout(before[2]) != layout(array))):
            return False
    return True


class OptimizedModule(Module):
    """A module whose calls are compiled; `_orig_mod` is the module itself, whose parameters these are."""

    def __init__(self, module: Module, options: dict[str, Any]) -> None:
        super().__init__()
        self._orig_mod = module
        self.training = module.training
        self.__dict__["_compiled"] = Compiled(module, **options)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes, compiled."""
        return self._compiled(*args, **kwargs)

    def train(self, mode: bool = True) -> Any:
        """Put both into training or evaluation mode."""
        return super().train(mode)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "_orig_mod":
                raise
            return getattr(self._orig_mod, name)


def compile(model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: Any = "lucid",
            mode: str | None = None, options: dict[str, Any] | None = None, disable: bool = False, verify: int = 0,
            recompile_limit: int = RECOMPILE_LIMIT) -> Any:
    """`model`, a function or a module, recorded while it runs and replayed without Python from its third call on.

    Replays give the same numbers, bit for bit. There is a plan for each signature: the layout of tensors, the values of other
    arguments, the gradient mode, autocast, and all variables, attributes and elements of containers that the function leads to.
    Steps of optimizers, schedulers and `GradScaler`, and `clip_grad_norm_`, are called as they are: learning rates may change.

    What cannot be replayed (`item`, `bool`, `numpy` and printing of tensors, shapes that depend on elements, changes of
    Python's variables, results whose gradients are still to be computed) makes the function run eagerly from then on, with one
    warning that names the line; with `fullgraph` it raises GraphBreak there. Not seen are effects outside of Python's
    variables, such as files, sockets and the clock. Every `verify`-th replay is an eager call that is compared with the plan,
    kernel by kernel: RuntimeError names the first that differs. After `recompile_limit` plans others run eagerly, with a
    warning.

    `dynamic`, `backend`, `mode` and `options` are PyTorch's, and change nothing; `disable` returns `model` as it is. On a GPU
    kernels are launched as CUDA graphs. `docs/compile.md` says all of it.

    >>> @lucid.compile
    ... def train_step(x, y):
    ...     optimizer.zero_grad()
    ...     loss = F.cross_entropy(model(x), y)
    ...     loss.backward()
    ...     optimizer.step()
    ...     return loss
    >>> print(train_step.summary())
    """
    given: dict[str, Any] = {"fullgraph": fullgraph, "verify": verify, "recompile_limit": recompile_limit}
    if model is None:
        return functools.partial(compile, disable=disable, **given)
    if disable:
        return model
    if isinstance(model, Module):
        return OptimizedModule(model, given)
    if not callable(model):
        raise RuntimeError("Unsupported type: lucid.compile takes a function or a module")
    return Compiled(model, **given)
