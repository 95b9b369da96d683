"""state_dict and load_state_dict. Loading checks everything first and writes afterwards: it succeeds or changes nothing."""
from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ... import _dtypes
from ..._hooks import RemovableHandle
from ...autograd.grad_mode import no_grad
from ...tensor import Tensor, version_box
from ._registry import Registry

EXTRA_STATE = "_extra_state"
PENDING = "pending_writes"  # where local_metadata carries the plan of a load through `_load_from_state_dict`


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` returns: the keys that the module has and the state has not, and the other way round."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class StateDictionary(OrderedDict[str, Any]):
    """An ordered dictionary with the versions of the modules in `_metadata`."""

    _metadata: OrderedDict[str, dict[str, Any]]


class Pending:
    """The writes of one load, collected while it is checked and carried out when everything is right."""

    def __init__(self, assign: bool) -> None:
        self.assign = assign
        self._tensors: list[tuple[Tensor, Tensor]] = []
        self._calls: list[tuple[Callable[[Any], None], Any]] = []

    def tensor(self, target: Tensor, value: Tensor) -> None:
        """Plan to give `target` the elements of `value`, or with `assign` its memory."""
        self._tensors.append((target, value))

    def call(self, function: Callable[[Any], None], value: Any) -> None:
        """Plan to call `function(value)`, after all tensors are written."""
        self._calls.append((function, value))

    def commit(self) -> None:
        """Do what was planned."""
        for target, value in self._tensors:
            with no_grad():
                if self.assign:
                    share(target, value)
                else:
                    target.copy_(value)
        for function, argument in self._calls:
            function(argument)

    def backup(self) -> Pending:
        """A plan that undoes this one, made before it is carried out: it holds a copy of every tensor."""
        undo = Pending(self.assign)
        for target, _ in self._tensors:
            undo.tensor(target, target.detach() if self.assign else target.detach().clone())
        return undo


def share(target: Tensor, value: Tensor) -> None:
    """Put the memory of `value` behind the object `target`, which keeps its `requires_grad`."""
    target._swap_array(value._array)
    target._version_box = version_box(value)


class StateDict(Registry):
    """The part of Module that saves and loads its state."""

    _version: int = 1  # goes into the metadata of a state dict; a layer that changes its keys raises it

    _state_dict_hooks: OrderedDict[int, Callable[..., Any]]
    _state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    # ---- saving --------------------------------------------------------------------------------------------------
    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Parameters and persistent buffers by dotted name, in order of registration.

        The tensors share memory with the module, detached unless `keep_vars`. The result is an OrderedDict whose attribute
        `_metadata` holds the version of each module. `destination` is a dictionary to fill instead of a new one.
        """
        if args:
            warnings.warn("Positional args are being deprecated, use kwargs instead: destination, prefix, keep_vars",
                          FutureWarning, stacklevel=2)
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = given["destination"] if destination is None else destination
            prefix, keep_vars = given.get("prefix", prefix), given.get("keep_vars", keep_vars)
        if destination is None:
            destination = StateDictionary()
            destination._metadata = OrderedDict()
        local_metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, local_metadata)
            if result is not None:
                if getattr(hook, "_from_public_api", False):
                    raise RuntimeError("state_dict post-hook must return None")
                destination = result
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put the state of this module, without its submodules, into `destination`; layers may override it."""
        for name, tensor in self._persistent_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not StateDict.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _persistent_state(self) -> dict[str, Tensor]:
        """What this module itself saves: parameters, then persistent buffers, those that are not None."""
        state: dict[str, Tensor] = {name: p for name, p in self._parameters.items() if p is not None}
        state.update((name, b) for name, b in self._buffers.items()
                     if b is not None and name not in self._non_persistent_buffers_set)
        return state

    def get_extra_state(self) -> Any:
        """Override, together with `set_extra_state`, to save something besides tensors in `state_dict()`."""
        raise RuntimeError("get_extra_state() is called only for modules that override it")

    def set_extra_state(self, state: Any) -> None:
        """Override to restore what `get_extra_state` returned."""
        raise RuntimeError("set_extra_state() is called only for modules that override it")

    # ---- loading -------------------------------------------------------------------------------------------------
    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Load what `state_dict()` gave, into the same tensor objects.

        Everything is checked before anything is written: after an error the module is as it was. With `strict` the keys must
        match exactly; without, the differences are returned. `assign` puts the memory of the loaded tensors, with their
        dtype and device, behind the objects instead of copying the elements.
        Raises TypeError if `state_dict` is not a mapping, and RuntimeError that lists missing and unexpected keys and wrong
        shapes. A layer that overrides `_load_from_state_dict` sees the loaded values only after the whole load.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        keys = IncompatibleKeys([], [])
        errors: list[str] = []
        pending = Pending(assign)
        metadata = getattr(state_dict, "_metadata", None)
        state = StateDictionary(state_dict)
        if metadata is not None:
            state._metadata = metadata
        hooked = _plan(self, state, "", metadata, pending, keys, errors)

        def problems() -> list[str]:
            return (_describe(keys) if strict else []) + errors

        if not problems():
            pending.commit()
            _call_hooks(hooked, keys)
        elif hooked and not errors:
            # The hooks may forgive the keys, but they run after the load: until they have, it can still fail.
            undo = pending.backup()
            pending.commit()
            _call_hooks(hooked, keys)
            if problems():
                undo.commit()
        if problems():
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(problems()))
        return keys

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], strict: bool,
                              missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str]) -> None:
        """Plan the load of this module, without its submodules; layers override it to read older state dicts.

        Called directly, outside `load_state_dict`, it writes at once.
        """
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        pending = local_metadata.get(PENDING)
        plan = Pending(bool(local_metadata.get("assign_to_params_buffers"))) if pending is None else pending
        own = self._persistent_state()
        for name, target in own.items():
            key = prefix + name
            if key in state_dict:
                value = _loadable(key, state_dict[key], target, plan.assign, error_msgs)
                if value is not None:
                    plan.tensor(target, value)
            elif strict:
                missing_keys.append(key)
        extra = prefix + EXTRA_STATE
        if type(self).set_extra_state is not StateDict.set_extra_state:
            if extra in state_dict:
                plan.call(self.set_extra_state, state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    head, dot, _ = key[len(prefix):].partition(".")
                    if head not in (self._modules if dot else own):
                        unexpected_keys.append(key)
        if pending is None:
            plan.commit()

    # ---- hooks ---------------------------------------------------------------------------------------------------
    def register_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before the state of this module is saved."""
        return RemovableHandle.add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after; it may change the dictionary in place."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return RemovableHandle.add(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("Cannot register the same function as the state dict post hook that was previously registered "
                               "via register_state_dict_post_hook")
        return RemovableHandle.add(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)``
        before this module is loaded; it may change the dictionary and the lists in place.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., None], with_module: bool = False
                                           ) -> RemovableHandle:
        return RemovableHandle.add(self._load_state_dict_pre_hooks, BoundHook(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after the load, before a strict load looks at the keys; it may change the
        two lists in place.
        """
        return RemovableHandle.add(self._load_state_dict_post_hooks, hook)


class BoundHook:
    """A hook that is called with its module first; a copied module gets one bound to the copy."""

    def __init__(self, hook: Callable[..., Any], module: Any) -> None:
        self.hook = hook
        self.module = module

    def __call__(self, *args: Any) -> Any:
        return self.hook(self.module, *args)


def _plan(root: StateDict, state: StateDictionary, prefix: str, metadata: Any, pending: Pending, keys: IncompatibleKeys,
          errors: list[str]) -> list[StateDict]:
    """Let `root` and all modules below plan their load; the modules with hooks to call after it, in their order."""
    local_metadata = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
    local_metadata[PENDING] = pending
    if pending.assign:
        local_metadata["assign_to_params_buffers"] = True
    root._load_from_state_dict(state, prefix, local_metadata, True, keys.missing_keys, keys.unexpected_keys, errors)
    hooked: list[StateDict] = []
    for name, child in root._modules.items():
        if child is not None:
            child_prefix = f"{prefix}{name}."
            below = StateDictionary((key, value) for key, value in state.items() if key.startswith(child_prefix))
            hooked += _plan(child, below, child_prefix, metadata, pending, keys, errors)
    if root._load_state_dict_post_hooks:
        hooked.append(root)
    return hooked


def _call_hooks(modules: list[StateDict], keys: IncompatibleKeys) -> None:
    """Call the hooks of `modules` that want to know the keys after a load."""
    for module in modules:
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, keys) is not None:
                raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to "
                                     "return new values, if incompatible_keys need to be modified, it should be done "
                                     "inplace.")


def _loadable(key: str, value: Any, target: Tensor, assign: bool, errors: list[str]) -> Tensor | None:
    """`value` in the shape of `target`, or None and a line in `errors`."""
    if not isinstance(value, Tensor):
        errors.append(f'While copying the parameter named "{key}", expected lucid.Tensor or Tensor-like object from '
                      f"checkpoint but received {type(value)}")
        return None
    if target.ndim == 0 and value.shape == (1,):
        value = value[0]  # how old checkpoints stored scalars
    if value.shape != target.shape:
        errors.append(f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape in "
                      f"current model is {target.shape}.")
        return None
    if assign and target.requires_grad and not _dtypes.is_differentiable(value.dtype):
        errors.append(f"cannot assign {key}: the parameter requires grad, and a checkpoint of dtype {value.dtype.name} cannot.")
        return None
    return value


def _describe(keys: IncompatibleKeys) -> list[str]:
    """The lines of the error about missing and unexpected keys, as in PyTorch."""
    return [f"{what} key(s) in state_dict: {', '.join(f'{chr(34)}{name}{chr(34)}' for name in names)}. "
            for what, names in (("Missing", keys.missing_keys), ("Unexpected", keys.unexpected_keys)) if names]
