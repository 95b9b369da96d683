"""`compile`: functions and modules that are recorded twice, and replayed from then on.

The first two calls with a signature run eagerly under a recorder. If both ran the same kernels on the same tensors with the
same attributes, the third one replays them. So what a recorder cannot see, such as a number of Python that is another one at
each call, is found out before anything depends on it.
"""
from __future__ import annotations

import functools
import threading
import types
from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np

from .. import _clock as clock
from .. import _notebook, _recording, backends
from .._pytree import tree_flatten, tree_unflatten
from ..autograd.grad_mode import GRAD, INFERENCE
from ..autograd.grad_mode import mode as grad_mode
from ..autograd.node import CallNode, Saved, Slot
from ..nn.modules.module import Module
from ..nn.modules.module.global_hooks import around_calls
from ..overrides.state import state as overrides
from ..tensor import Tensor, version_box, wrap
from .breaks import GraphBreak, notice_printing, warn
from .comparison import alike, differences, is_composed, layout
from .guards import PLAIN, Environment, Unwatchable
from .plan import Plan, upstream
from .recompute import context, cuts, has_hooks, is_repeatable, replaced
from .recorder import Recorder

F = TypeVar("F", bound=Callable[..., Any])

RECOMPILE_LIMIT = 8  # signatures of one function, as in PyTorch
_WAITING = 4  # recordings of a signature that wait for a second one like them: those of training, of evaluation


class _Signature:
    """What has been recorded for the calls of one signature."""

    __slots__ = ("calls", "held", "last", "open", "plans", "recorded")

    def __init__(self, held: Any) -> None:
        self.held = held  # objects whose identity is part of the signature
        self.plans: list[Plan] = []
        self.recorded: list[Recorder] = []  # first recordings, which wait for second ones like them
        self.calls = 0
        self.open = 0  # recordings since the last one whose results got gradients
        self.last: Recorder | None = None  # of those


class Compiled:
    """A function that is recorded and replayed; see `compile`. `plans` are those there are.

    >>> @lucid.compile
    ... def double(x):
    ...     return x * 2
    >>> isinstance(double, lucid.compiler.Compiled), len(double.plans)
    (True, 0)
    """

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

    def _repr_html_(self) -> str:
        return "".join(_notebook.plan(plan.summary()) for plan in self.plans) or _notebook.plan(self.summary())

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
                    if plan.is_stale:
                        signature.plans.remove(plan)
                        break
                    self._replays += 1
                    verify = self._options[1]
                    if verify and self._replays % verify == 0:
                        return self._verified(plan, args, keywords, leaves, tensors)
                    return plan.run(tensors, self._compiled_function, args, keywords)
        if self._full or (signature is not None and signature.open > self._options[2]):
            return self._compiled_function(*args, **keywords)
        if signature is None:
            if len(self._signatures) >= self._options[2]:
                self._limit()
                return self._compiled_function(*args, **keywords)
            signature = self._signatures[key] = _Signature(held)
        return self._record(signature, args, keywords, leaves, tensors)

    def _key(self, leaves: list[Any], shape: Any) -> tuple[Any, Any]:
        key: list[Any] = [*context(), shape, len(leaves)]
        held = []
        first: dict[int, int] = {}
        for number, leaf in enumerate(leaves):
            if isinstance(leaf, Tensor):
                array, grad = leaf._array, leaf._grad
                key.append((leaf.__class__, layout(array) if not leaf.is_meta else None, leaf._node is not None, leaf.is_leaf,
                            has_hooks(leaf),
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
            # A plan is made of the second one like another.
            in_detail = bool(signature.recorded or signature.open)
            earlier = signature.recorded[-1] if signature.recorded else signature.last
            recorder, result = self._recorded(args, keywords, leaves, tensors, in_detail, earlier)
        except Unwatchable as error:
            self._give_up(str(error))
            return self._compiled_function(*args, **keywords)
        if recorder.reason is not None:
            self._give_up(recorder.reason)
            return result
        signature.calls += 1
        if recorder.is_open:
            signature.open += 1
            last, signature.last = signature.last, recorder
            if signature.open > self._options[2] and not self._settled_without_backward(signature, last, recorder):
                warn(f"{self.__name__} has been called {signature.open} times without a backward pass "
                     "through its results; such calls run eagerly from now on. Call it under no_grad() if there is none")
            return self._bounded(signature, recorder, result)
        self._settle(signature, recorder)
        return result

    def _settled_without_backward(self, signature: _Signature, last: Recorder | None, recorder: Recorder) -> bool:
        """Make a plan of forward alone of the `last` recording, if it can be repeated and is like this one. Says if so."""
        end = recorder.end + 1
        if last is None or not last.in_detail or last.is_whole or not is_repeatable(last.events[:end]) or (
                not alike(last, recorder) or differences(last, recorder, end) is not None):
            return False
        last.is_whole = last.is_settled = True  # its own backward is recorded no more
        signature.plans.append(Plan(last, only_forward=True))
        signature.open, signature.last = 0, None
        if len(self.plans) > self._options[2]:
            signature.plans.pop()
            self._limit()
        return True

    def _bounded(self, signature: _Signature, recorder: Recorder, result: Any) -> Any:
        """`result`, with the call as one node of the graph, whose rule records what backward does inside of it."""
        inside, targets = list(recorder.leaves), {tensor._node: tensor for _, tensor in recorder.wanted}

        def vjp(g: Any, saved: Saved) -> list[Any]:
            found = recorder.differentiate(inside, targets, upstream(g, len(inside)), saved.is_kept)
            if recorder.reason is not None:
                if self._eager is None:
                    self._give_up(recorder.reason)
            elif recorder.is_whole and not recorder.is_settled and self._lock.acquire(blocking=False):
                try:
                    if self._eager is None and not self._full:
                        self._settle(signature, recorder)
                finally:
                    self._lock.release()
                recorder.is_settled = True
                recorder.leaves, recorder.cuts = [], {}  # this function has what another backward needs
            return found

        parents = [tensor._node.parents[0] if id(tensor._node) in recorder.cuts else tensor._node
                   for _, tensor in recorder.wanted]
        node = CallNode("compiled", parents, vjp, Saved([]))
        new: dict[int, Tensor] = {}
        for number, leaf in enumerate(recorder.leaves):
            new[id(leaf)] = wrap(leaf._array, node if len(recorder.leaves) == 1 else Slot(node, number))
            new[id(leaf)]._version_box = version_box(leaf)
        for cut in recorder.cuts.values():
            cut._node.parents = ()  # what the gradient is of goes on outside
        leaves, spec = tree_flatten(result)
        return tree_unflatten([new.get(id(leaf), leaf) for leaf in leaves], spec)

    def _settle(self, signature: _Signature, recorder: Recorder) -> None:
        """Make a plan of a recording, if there is another one like it; else keep it."""
        signature.open, signature.last = 0, None
        first = next((other for other in signature.recorded if alike(other, recorder)), None)
        if first is None or not recorder.in_detail:  # gradients or structure were others: these are not of one plan
            signature.recorded = [*signature.recorded[1 - _WAITING:], recorder]
            if signature.calls > 2 * self._options[2]:
                self._limit()
            return
        difference = differences(first, recorder)
        if difference is not None:
            self._give_up(difference)
            return
        signature.plans.append(Plan(recorder))
        signature.recorded.remove(first)
        if len(self.plans) > self._options[2]:
            signature.plans.pop()
            self._limit()

    def _recorded(self, args: Any, keywords: Any, leaves: list[Any], tensors: list[Tensor], in_detail: bool,
                  earlier: Recorder | None = None) -> tuple[Recorder, Any]:
        """The recording of one eager call, and what it returns. An `earlier` one of the signature may have seen the same."""
        others = tuple(leaf for leaf in leaves if not isinstance(leaf, Tensor))
        behind = cuts(tensors)
        if behind:
            args, keywords = replaced((args, keywords), behind)
            leaves = tree_flatten((args, keywords))[0]
            originals = {id(behind[id(t)]): t for t in tensors if id(t) in behind}
            tensors = [behind.get(id(t), t) for t in tensors]
        environment = earlier.environment if earlier is not None and earlier.environment.is_up_to_date() else (
            Environment((self._compiled_function, *others)))
        recorder = Recorder(environment, tensors, self._options[0], getattr(self._compiled_function, "__code__", None), in_detail)
        recorder.context = modes = context()
        recorder.cuts = {id(cut._node): cut for cut in behind.values()}
        if any(t._node is not None and not t.is_leaf and id(t._node) not in recorder.cuts for t in tensors):
            recorder.refuse("an argument has a gradient that leads out of the function")
        if any(map(has_hooks, tensors)):
            recorder.refuse("an argument has hooks")
        if any(t.is_meta for t in tensors):
            recorder.refuse("an argument has no elements")
        if any(is_composed(t._array) for t in tensors):
            recorder.refuse(_COMPOSED.format("an argument"))
        token = _recording.recorder.set(recorder)
        _recording.count(1)
        try:
            with backends.observe(recorder.kernel), notice_printing():
                result = self._compiled_function(*args, **keywords)
            if not _unchanged(args, keywords, leaves):
                recorder.refuse("it changes a container among its arguments")
            if context() != modes:
                recorder.refuse("it changes the gradient mode, the default dtype or device, or autocast, for what runs after it")
            if any(isinstance(t, Tensor) and is_composed(t._array) for t in tree_flatten(result)[0]):
                recorder.refuse(_COMPOSED.format("a result"))
            for node, cut in recorder.cuts.items():
                if id(cut._node) != node:
                    originals[id(cut)]._node = cut._node
                    recorder.refuse("it writes to an argument that has been computed outside")
            recorder.finish(result)
        finally:
            _recording.count(-1)
            _recording.recorder.reset(token)
        if behind:
            result = replaced(result, originals)
        return recorder, result

    def _verified(self, plan: Plan, args: Any, keywords: Any, leaves: list[Any], tensors: list[Tensor]) -> Any:
        """An eager call, recorded and compared with the plan. Raises RuntimeError that names the first step that differs."""
        recorder, result = self._recorded(args, keywords, leaves, tensors, False)
        difference = recorder.reason or differences(plan.recorder, recorder, plan.recorder.end + 1)
        if difference is not None:
            raise RuntimeError(f"lucid.compile(verify={self._options[1]}): the plan is no longer what the function computes: "
                               f"{difference}")
        return result

    def _give_up(self, reason: str) -> None:
        self._eager = reason
        self._signatures.clear()
        if self._options[0]:
            raise GraphBreak(f"lucid.compile(fullgraph=True): {reason}")
        warn(f"{self.__name__} runs eagerly from now on. {reason}")

    def _limit(self) -> None:
        self._full = True
        for signature in self._signatures.values():
            signature.recorded = []
        warn(f"{self.__name__} has reached its recompile_limit of {self._options[2]} plans; calls with "
             "other signatures run eagerly")

    __name__: str


_COMPOSED = "{} is sparse, or of a dtype for storage"
_COMMON = GRAD | INFERENCE  # modes that change nothing but what is computed


def _unchanged(args: Any, keywords: Any, leaves: list[Any]) -> bool:
    """Whether the containers among the arguments still hold the same `leaves`."""
    now, _ = tree_flatten((args, keywords))
    return len(now) == len(leaves) and all(a is b for a, b in zip(now, leaves, strict=True))


def _shape_of(spec: Any) -> Any:
    """How arguments are nested, as something with a hash."""
    return spec.type, repr(spec.context), tuple(map(_shape_of, spec.children_specs))


class OptimizedModule(Module):
    """A module whose calls are compiled; `_orig_mod` is the module itself, whose parameters, attributes and mode these are.

    >>> model = lucid.compile(nn.Linear(2, 3))
    >>> isinstance(model, lucid.compiler.OptimizedModule), model._orig_mod
    (True, Linear(in_features=2, out_features=3, bias=True))
    >>> model.scale = 2.0
    >>> model._orig_mod.scale, model.eval()._orig_mod.training
    (2.0, False)
    """

    def __init__(self, module: Module, options: dict[str, Any]) -> None:
        super().__init__()
        self._orig_mod = module
        self.__dict__["_compiled"] = Compiled(module, **options)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes, compiled."""
        return self._compiled(*args, **kwargs)

    @property
    def training(self) -> bool:
        """The mode of the module."""
        return bool(self._orig_mod.training)

    @training.setter
    def training(self, mode: bool) -> None:
        if "_orig_mod" in self._modules:  # else it is being made
            self._orig_mod.training = mode

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

    def _is_own(self, name: str) -> bool:
        """Whether an attribute is this module's, and not the other one's."""
        return name == "_orig_mod" or name in self.__dict__ or hasattr(type(self), name) or "_orig_mod" not in self.__dict__.get(
            "_modules", ())

    def __setattr__(self, name: str, value: Any) -> None:
        if self._is_own(name):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if self._is_own(name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __len__(self) -> int:
        return len(self._orig_mod)  # raises TypeError where there is none

    def __bool__(self) -> bool:
        return bool(self._orig_mod)


@overload
def compile(model: F, *, fullgraph: bool = ..., dynamic: bool | None = ..., backend: Any = ..., mode: str | None = ...,
            options: dict[str, Any] | None = ..., disable: bool = ..., verify: int = ..., recompile_limit: int = ...) -> F: ...


@overload
def compile(model: None = None, *, fullgraph: bool = ..., dynamic: bool | None = ..., backend: Any = ..., mode: str | None = ...,
            options: dict[str, Any] | None = ..., disable: bool = ..., verify: int = ..., recompile_limit: int = ...
            ) -> Callable[[F], F]: ...


def compile(model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: Any = "lucid",
            mode: str | None = None, options: dict[str, Any] | None = None, disable: bool = False, verify: int = 0,
            recompile_limit: int = RECOMPILE_LIMIT) -> Any:
    """`model`, a function or a module, recorded while it runs and replayed without Python from its third call on.

    Replays give the same numbers, bit for bit. There is a plan for each signature: the layout of tensors, the values of other
    arguments, the gradient mode, autocast, and all variables, attributes and elements of containers that the function leads to.
    Steps of optimizers, schedulers and `GradScaler`, and `clip_grad_norm_`, are called as they are: learning rates may change.

    Results may be differentiated outside: then backward is recorded and replayed too.

    What cannot be replayed (`item`, `bool`, `numpy` and printing of tensors, shapes that depend on elements, changes of
    Python's variables) makes the function run eagerly from then on, with one warning that names the line; with `fullgraph` it
    raises GraphBreak there. Not seen are effects outside of Python's variables, such as files, sockets and the clock. Every
    `verify`-th replay is an eager call that is compared with the plan, kernel by kernel: RuntimeError names the first that
    differs. After `recompile_limit` plans others run eagerly, with a warning.

    `dynamic`, `backend`, `mode` and `options` are PyTorch's, and change nothing; `disable` returns `model` as it is. On a GPU
    kernels are launched as CUDA graphs. `docs/compile.md` says all of it.

    >>> @lucid.compile
    ... def gelu(x):
    ...     return 0.5 * x * (1 + lucid.erf(x * 0.5 ** 0.5))
    >>> for _ in range(3):
    ...     y = gelu(lucid.tensor([-1.0, 0.0, 1.0]))
    >>> y
    Tensor([-0.1587,  0.0000,  0.8413], requires_grad=False)
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
