"""Optimizer: parameter groups, the state of each parameter, hooks, and the `state_dict` layout of PyTorch."""
from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from itertools import chain
from typing import Any, Self

from .. import _dtypes, _recording, backends
from .._hooks import RemovableHandle
from ..autograd.errors import describe_one
from ..tensor import Tensor, as_array, wrap

Group = dict[str, Any]
StateDict = dict[str, Any]

_HOOK_REGISTRIES = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks", "_optimizer_state_dict_pre_hooks",
                    "_optimizer_state_dict_post_hooks", "_optimizer_load_state_dict_pre_hooks",
                    "_optimizer_load_state_dict_post_hooks")


_step_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()  # of all optimizers
_step_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before `step` of every optimizer, and before its own hooks; it may return new
    (args, kwargs). `args` begins with the optimizer.
    """
    return RemovableHandle.add(_step_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., None]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after `step` of every optimizer, and after its own hooks."""
    return RemovableHandle.add(_step_post_hooks, hook)


class _Required:
    """The type of `required`."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()  # a default that every parameter group must replace


def shape_error(param: Tensor, grad: Tensor) -> RuntimeError:
    """The error about a gradient that does not fit its parameter."""
    return RuntimeError(f"the gradient of a parameter must have its shape, dtype and device, but got {describe_one(grad)} for "
                        f"{describe_one(param)}. No parameter was changed.")


class Optimizer:
    """The base class of all optimizers, as in PyTorch.

    `params` is an iterable of leaf tensors, of (name, tensor) pairs, or of dictionaries with a key 'params' and options that
    differ from `defaults`. The groups hold the tensors themselves, so moving a module to another device keeps them valid;
    the state of a parameter follows it at the next `step` or `state_dict`.

    A subclass defines `step(closure=None)`; one that works on the groups of another optimizer may set `param_groups`, and what
    else it uses, without calling ``super().__init__``. Raises TypeError for a single tensor, a set or anything that is not a
    tensor, and ValueError for no parameters, a tensor that was computed, or one that appears in two groups.

    >>> class Descent(lucid.optim.Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...     @lucid.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p -= group["lr"] * p.grad
    >>> w = nn.Parameter(lucid.tensor([3.0]))
    >>> (w ** 2).sum().backward()
    >>> Descent([w], lr=0.5).step()
    >>> w.detach()
    Tensor([0.0], requires_grad=False)
    """

    # Names of state tensors with the shape and dtype of their parameter, the first one always there: checked before a step.
    _elementwise_state: tuple[str, ...] = ()

    _takes_sparse = False  # whether gradients may be sparse
    _sparse_refusal = ""  # the error about others, if it says more than that
    _stepping = False  # whether the hooks around a step are running it

    _optimizer_step_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_step_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.step)  # type: ignore[method-assign]

    def __new__(cls, *arguments: Any, **keywords: Any) -> Self:
        optimizer = super().__new__(cls)
        for registry in _HOOK_REGISTRIES:  # here, as some optimizers around others do not call our `__init__`
            setattr(optimizer, registry, OrderedDict())
        return optimizer

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            f"{type(params).__name__}")
        self.defaults = defaults
        self.state: defaultdict[Any, dict[str, Any]] = defaultdict(dict)
        self.param_groups: list[Group] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    # ---- parameter groups ----------------------------------------------------------------------------------------
    def add_param_group(self, param_group: Group) -> None:
        """Add a dictionary with a key 'params' and options; missing options are the defaults. Raises as the class does.

        >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)], lr=0.1)
        >>> optimizer.add_param_group({"params": [lucid.ones(2, requires_grad=True)], "lr": 0.5})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 0.5]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        tensors, names = _tensors_and_names(param_group["params"])
        for tensor in tensors:
            if not isinstance(tensor, Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(tensor).__name__}")
            if not (self.defaults.get("differentiable") or tensor.is_leaf or tensor.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        param_group["params"] = tensors
        if names:
            param_group["param_names"] = names
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)

        # Compared by identity: `==` of tensors works on their elements.
        identities = {id(tensor) for tensor in tensors}
        if len(identities) != len(tensors):
            warnings.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause an "
                          "error; see github.com/pytorch/pytorch/issues/40967 for more information", stacklevel=3)
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                with_names = "with names" if "param_names" in param_group else "without names"
                raise ValueError("all optimizer param groups should be with/without names. cannot add param group "
                                 f"{with_names} to the optimizer")
            if not identities.isdisjoint(map(id, group["params"])):
                raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or with ``set_to_none=False`` fill them with zeros.

        >>> w = lucid.tensor([3.0], requires_grad=True)
        >>> optimizer = lucid.optim.SGD([w])
        >>> (w ** 2).sum().backward()
        >>> optimizer.zero_grad()
        >>> w.grad is None
        True
        """
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param._grad = None
                elif param._grad is not None:
                    if param._grad.grad_fn is not None:
                        param._grad.detach_()
                    else:
                        param._grad.requires_grad_(False)
                    param._grad.zero_()

    # ---- stepping ------------------------------------------------------------------------------------------------
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters. `closure` computes the loss and the gradients again and returns the loss, as this does.

        >>> w = lucid.tensor([3.0], requires_grad=True)
        >>> optimizer = lucid.optim.SGD([w], lr=0.25)
        >>> (w ** 2).sum().backward()
        >>> optimizer.step()
        >>> w
        Tensor([1.5], requires_grad=True)
        """
        raise NotImplementedError(f"{type(self).__name__} does not define step()")

    def _repeat(self, number: int, group: Group) -> Any:
        """What takes the place of the pairs of a group, by its number, if the step repeats the last one; else None."""
        return None

    def _ready(self) -> list[tuple[Group, Any]]:
        """Each group with its (parameter, gradient) pairs, checked before any of them is written, or with its `_repeat`.

        Raises RuntimeError if a gradient does not fit its parameter, or the state does not.
        """
        first_state = self._elementwise_state[0] if self._elementwise_state else None
        state = self.state
        ready: list[tuple[Group, Any]] = []
        for number, group in enumerate(self.param_groups):
            repeat = self._repeat(number, group)
            if repeat is not None:
                ready.append((group, repeat))
                continue
            pairs = []
            for param in group["params"]:
                grad = param._grad
                if grad is None:
                    continue
                array, its = param._array, grad._array
                shape, dtype, device = array.shape, array.dtype, array.device  # that of an array is cheaper than a tensor's
                if its.__class__ is not array.__class__ and hasattr(its, "is_sparse") and not self._takes_sparse:
                    raise RuntimeError(self._sparse_refusal or f"{type(self).__name__} does not support sparse gradients")
                if its.shape != shape or its.dtype != dtype or its.device != device:
                    raise shape_error(param, grad)
                entries = state.get(param)
                if entries is not None:
                    kept = _placed(entries) if first_state is None else entries.get(first_state)
                    if kept is not None and (kept._array.device != device or (first_state is not None and (
                            kept._array.dtype != dtype or kept._array.shape != shape))):
                        self._follow(param)
                pairs.append((param, grad))
            ready.append((group, pairs))
        return ready

    def _follow(self, param: Tensor) -> None:
        """Move the state of `param` to its device, inside the same state tensors; 'step' stays where it is.

        Raises RuntimeError if the parameter has changed its shape or dtype since.
        """
        entries = self.state[param]
        for name, value in entries.items():
            if name == "step" or not isinstance(value, Tensor):
                continue
            if name in self._elementwise_state and (value.shape != param.shape or value.dtype != param.dtype):
                raise RuntimeError(
                    f"optimizer state '{name}' ({describe_one(value)}) no longer fits its parameter "
                    f"({describe_one(param)}), which was changed since. Make a new optimizer; its load_state_dict casts a "
                    "state of the same shape. No parameter was changed.")
            if value._array.device != param._array.device:
                value._swap_array(backends.to_device(value._array, param.device))

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before `step`; it may return new (args, kwargs). `args` begins with self.

        >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)])
        >>> handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: print("before"))
        >>> optimizer.step()
        before
        """
        return RemovableHandle.add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after `step`. `args` begins with the optimizer.

        >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)])
        >>> handle = optimizer.register_step_post_hook(lambda optimizer, args, kwargs: print("stepped"))
        >>> optimizer.step()
        stepped
        """
        return RemovableHandle.add(self._optimizer_step_post_hooks, hook)

    # ---- saving and loading --------------------------------------------------------------------------------------
    def state_dict(self) -> StateDict:
        """The state by index of the parameter, and the groups with these indices in the place of the parameters.

        The tensors are those of the optimizer, not copies.

        >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)], lr=0.1)
        >>> list(optimizer.state_dict())
        ['state', 'param_groups']
        >>> optimizer.state_dict()["param_groups"][0]["lr"]
        0.1
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        indices: dict[int, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            for index, param in enumerate(group["params"], start):
                indices.setdefault(id(param), index)
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [indices[id(param)] for param in group["params"]]
            groups.append(packed)
            start += len(group["params"])
        state = {}
        for key, entries in self.state.items():
            if isinstance(key, Tensor):
                self._follow(key)
                state[indices[id(key)]] = entries
            else:
                state[key] = entries
        result: StateDict = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Load what `state_dict()` gave. Parameters are matched by position.

        State tensors are copied, to the device and for floating-point parameters to the dtype of their parameter; 'step'
        goes to the CPU, with `capturable` or `fused` to the parameter. NumPy arrays are taken as tensors.
        Raises ValueError, with nothing changed, if the groups differ in number or size or a state tensor has another shape than
        its parameter.

        >>> w = lucid.ones(1, requires_grad=True)
        >>> optimizer = lucid.optim.SGD([w], lr=0.1)
        >>> optimizer.load_state_dict(lucid.optim.SGD([w], lr=0.5).state_dict())
        >>> optimizer.param_groups[0]["lr"]
        0.5
        """
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved_groups = deepcopy(state_dict["param_groups"])
        if len(saved_groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        pairs = list(zip(self.param_groups, saved_groups, strict=True))
        if any(len(group["params"]) != len(saved["params"]) for group, saved in pairs):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")

        by_number = dict(zip(chain.from_iterable(saved["params"] for saved in saved_groups),
                             chain.from_iterable(group["params"] for group in self.param_groups), strict=True))
        counts = {number: counts_on_device(saved) for saved in saved_groups for number in saved["params"]}
        state: defaultdict[Any, Any] = defaultdict(dict)
        for number, entries in state_dict["state"].items():
            param = by_number.get(number)
            if param is None:
                state[number] = entries
            else:
                self._check_state(param, number, entries)
                state[param] = _fit(param, entries, counts[number])
        for group, saved in pairs:
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def _check_state(self, param: Tensor, number: Any, entries: Any) -> None:
        for name in self._elementwise_state:
            value = entries.get(name) if isinstance(entries, Mapping) else None
            if value is not None and tuple(value.shape) != param.shape:
                raise ValueError(f"loaded state '{name}' of parameter {number} has shape {list(value.shape)}, but the "
                                 f"parameter has shape {list(param.shape)}")

    def register_state_dict_pre_hook(self, hook: Callable[[Optimizer], None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before `state_dict` works.

        >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)])
        >>> handle = optimizer.register_state_dict_pre_hook(lambda optimizer: print("saving"))
        >>> state = optimizer.state_dict()
        saving
        """
        return RemovableHandle.add(self._optimizer_state_dict_pre_hooks, hook, prepend=prepend)

    def register_state_dict_post_hook(self, hook: Callable[[Optimizer, StateDict], StateDict | None],
                                      prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on the result of `state_dict`; it may return another one.

        >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)])
        >>> handle = optimizer.register_state_dict_post_hook(lambda optimizer, state: {**state, "step": 7})
        >>> optimizer.state_dict()["step"]
        7
        """
        return RemovableHandle.add(self._optimizer_state_dict_post_hooks, hook, prepend=prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[[Optimizer, StateDict], StateDict | None],
                                          prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on a shallow copy of what is to be loaded; it may return another one.

        >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)])
        >>> handle = optimizer.register_load_state_dict_pre_hook(lambda optimizer, state: print(list(state)))
        >>> optimizer.load_state_dict(optimizer.state_dict())
        ['state', 'param_groups']
        """
        return RemovableHandle.add(self._optimizer_load_state_dict_pre_hooks, hook, prepend=prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[[Optimizer], None],
                                           prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after `load_state_dict`.

        >>> optimizer = lucid.optim.SGD([lucid.ones(1, requires_grad=True)])
        >>> handle = optimizer.register_load_state_dict_post_hook(lambda optimizer: print("loaded"))
        >>> optimizer.load_state_dict(optimizer.state_dict())
        loaded
        """
        return RemovableHandle.add(self._optimizer_load_state_dict_post_hooks, hook, prepend=prepend)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"{chr(10) if number else ''}Parameter Group {number}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join(lines) + "\n)"


def check_options(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """Raise RuntimeError for the combinations of implementation options that PyTorch refuses."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step`, with the hooks of the optimizer around it, and a note for learning-rate schedulers that it was called."""
    @_recording.not_recorded
    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **keywords: Any) -> Any:
        self._opt_called = True  # type: ignore[attr-defined]
        if not (_step_pre_hooks or _step_post_hooks or self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks):
            return step(self, *args, **keywords)
        if self._stepping:  # a subclass calls super().step(): the hooks are around the whole
            return step(self, *args, **keywords)
        args = (self, *args)
        for hook in (*_step_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
            changed = hook(self, args, keywords)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {changed}.")
                args, keywords = changed
        self._stepping = True
        try:
            result = step(*args, **keywords)
        finally:
            self._stepping = False
        for hook in (*self._optimizer_step_post_hooks.values(), *_step_post_hooks.values()):
            hook(self, args, keywords)
        return result

    hooked._reports_to_scheduler = True  # type: ignore[attr-defined]
    return hooked


def _tensors_and_names(params: Any) -> tuple[list[Any], list[str]]:
    """The tensors and the names in a tensor, an iterable of tensors or an iterable of (name, tensor) pairs."""
    if isinstance(params, Tensor):
        return [params], []
    if isinstance(params, set):
        raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of tensors in "
                        "sets will change between runs. Please use a list instead.")
    items = list(params)
    names = [item[0] for item in items if isinstance(item, tuple)]
    if names and len(names) != len(items):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    return [item[1] for item in items] if names else items, names


def _placed(entries: Mapping[str, Any]) -> Tensor | None:
    """A tensor of the state that lies where the parameter lies."""
    return next((value for name, value in entries.items() if name != "step" and isinstance(value, Tensor)), None)


def counts_on_device(group: Group) -> bool:
    """Whether 'step' lies where its parameter does, and not on the CPU."""
    return bool(group.get("capturable") or group.get("fused"))


def _fit(param: Tensor, value: Any, counts: bool, name: Any = None) -> Any:
    """A copy of loaded state in which all tensors have the device and dtype that state of `param` has."""
    if isinstance(value, Tensor) or hasattr(value, "__array__"):
        if name == "step":
            return wrap(as_array(value, _dtypes.float32 if counts else None, param.device if counts else "cpu", copy=True))
        return wrap(as_array(value, param.dtype if _dtypes.is_floating(param.dtype) else None, param.device, copy=True))
    if isinstance(value, Mapping):
        return {key: _fit(param, entry, counts, key) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_fit(param, entry, counts) for entry in value)
    return value
