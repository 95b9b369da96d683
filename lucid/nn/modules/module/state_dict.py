"""state_dict and load_state_dict. Loading checks everything first and writes afterwards: it succeeds or changes nothing."""
from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from itertools import chain
from typing import Any

from ...._hooks import RemovableHandle
from ....tensor import Tensor
from .loading import IncompatibleKeys, Plan, Snapshot, ignored_patterns
from .materialize import recomputed_buffers
from .registry import Registry

EXTRA_STATE = "_extra_state"
PLAN = "plan"  # where local_metadata carries the plan of a load through `_load_from_state_dict`


class StateDictionary(OrderedDict[str, Any]):
    """An ordered dictionary with the versions of the modules in `_metadata`."""

    _metadata: OrderedDict[str, dict[str, Any]]


class StateDict(Registry):
    """The part of Module that saves and loads its state."""

    _version: int = 1  # goes into the metadata of a state dict; a layer that changes its keys raises it
    _omitted_buffers: frozenset[str] = frozenset()  # buffers that the constructor may do without: then they cannot be loaded

    _state_dict_hooks: OrderedDict[int, Callable[..., Any]]
    _state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    # ---- saving --------------------------------------------------------------------------------------------------
    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False, copy: bool = False
                   ) -> Any:
        """Parameters and persistent buffers by dotted name, in order of registration.

        The tensors share memory with the module, detached unless `keep_vars`: later steps change them too. With `copy` the
        result is a snapshot, which nothing changes: tensors, and extra states with them, are copied, and those that share
        memory share it in the snapshot. The result is an OrderedDict whose attribute `_metadata` holds the version of each
        module. `destination` is a dictionary to fill instead of a new one.

        >>> {name: tensor.shape for name, tensor in nn.Linear(2, 3).state_dict().items()}
        {'weight': lucid.Size([3, 2]), 'bias': lucid.Size([3])}
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
        before = dict(destination) if copy else {}
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
        if copy:
            memo: dict[int, Any] = {}
            for key, value in destination.items():
                if key not in before or before[key] is not value:
                    destination[key] = deepcopy(value, memo)
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
        """Override, together with `set_extra_state`, to save something besides tensors in `state_dict()`.

        >>> class Counted(nn.Module):
        ...     calls = 0
        ...     def get_extra_state(self):
        ...         return self.calls
        ...     def set_extra_state(self, state):
        ...         self.calls = state
        >>> Counted().state_dict()["_extra_state"]
        0
        """
        raise RuntimeError("get_extra_state() is called only for modules that override it")

    def set_extra_state(self, state: Any) -> None:
        """Override to restore what `get_extra_state` returned.

        >>> class Counted(nn.Module):
        ...     calls = 0
        ...     def get_extra_state(self):
        ...         return self.calls
        ...     def set_extra_state(self, state):
        ...         self.calls = state
        >>> module = Counted()
        >>> module.load_state_dict({"_extra_state": 5})
        <All keys matched successfully>
        >>> module.calls
        5
        """
        raise RuntimeError("set_extra_state() is called only for modules that override it")

    # ---- loading -------------------------------------------------------------------------------------------------
    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool | Mapping[str, Iterable[str]] = True,
                        assign: bool = False) -> IncompatibleKeys:
        """Load what `state_dict()` gave, into the same tensor objects, and return the missing and unexpected keys.

        Everything is checked before anything is written: after an error, also one that a hook or `set_extra_state` raises,
        the module is as it was. A layer that overrides `_load_from_state_dict` sees the loaded values only after the whole
        load. What the keys may be:

        - With `strict` they must match exactly; with ``strict=False`` the differences are returned.
          ``strict={"ignore": ["mask", "head.*"]}`` is strict but for the keys that match one of the patterns of `fnmatch`:
          they are left out, neither loaded nor reported, be they in the module, in the state or in both.
        - A buffer declared as None takes a tensor: it becomes a Buffer, on the device of its module. In a layer that was made
          without it, such as a batch norm without running statistics, the key is unexpected.
        - ``Buffer(resizable=True)`` takes another shape. All others have size mismatches, also with ``strict=False``.
        - Keys of non-persistent buffers, which older versions of a model may have saved, are passed over.

        `assign` puts the memory of the loaded tensors, with their dtype and device, behind the objects instead of copying the
        elements; gradients are forgotten. It brings a module from the device 'meta' to where the state is: non-persistent
        buffers with ``Buffer(init=...)`` are computed there. Without it, loading into the device 'meta' does nothing, and warns.
        Raises TypeError if `state_dict` is not a mapping or the patterns are not strings, ValueError for other keys in
        `strict`, and RuntimeError that lists missing and unexpected keys and wrong shapes.

        >>> model = nn.Linear(1, 1)
        >>> model.load_state_dict({"weight": lucid.ones(1, 1), "bias": lucid.zeros(1)})
        <All keys matched successfully>
        >>> model(lucid.tensor([[5.0]])).item()
        5.0
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        keys, errors = IncompatibleKeys([], []), list[str]()
        first = next(chain(self.parameters(), self.buffers()), None)
        plan = Plan(assign, ignored_patterns(strict), None if first is None else first.device)
        metadata = getattr(state_dict, "_metadata", None)
        state = StateDictionary(state_dict)
        if metadata is not None:
            state._metadata = metadata
        before = Snapshot.before_users_code(self)
        try:
            hooked = _plan(self, state, "", metadata, plan, keys, errors)
            for names in keys:
                names[:] = [name for name in names if not plan.ignores(name)]
            # The hooks may forgive the keys, but they run after the load: until they have, it can still fail.
            self._raise_problems(keys if strict and not hooked else None, errors)
            if before is not None and (hooked or plan.extra_states):
                before.keep_elements(plan.targets)
                for module, _ in plan.extra_states:
                    before.keep_extra_state(module)
            computed = recomputed_buffers(self, plan.source) if assign and plan.source is not None else []
            plan.commit()
            for buffer, content in computed:
                buffer._swap_array(content._array)
            _call_hooks(hooked, keys)
            self._raise_problems(keys if strict else None, errors)
        except BaseException:
            if before is not None:
                before.restore()
            raise
        return keys

    def _raise_problems(self, keys: IncompatibleKeys | None, errors: list[str]) -> None:
        problems = ([] if keys is None else keys.describe()) + errors
        if problems:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(problems))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], strict: bool,
                              missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str]) -> None:
        """Plan the load of this module, without its submodules; layers override it to read older state dicts.

        Called directly, outside `load_state_dict`, it writes at once.
        """
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        given = local_metadata.get(PLAN)
        plan = Plan(bool(local_metadata.get("assign_to_params_buffers"))) if given is None else given
        own, slots = self._persistent_state(), self._empty_slots()
        for name, target in own.items():
            key = prefix + name
            if plan.ignores(key):
                continue
            if key in state_dict:
                plan.write(key, target, state_dict[key], error_msgs)
            elif strict:
                missing_keys.append(key)
        for name in slots:
            key = prefix + name
            if key in state_dict and not plan.ignores(key):
                plan.fill(key, self, name, state_dict[key], error_msgs)
        extra = prefix + EXTRA_STATE
        if type(self).set_extra_state is not StateDict.set_extra_state:
            if extra in state_dict and not plan.ignores(extra):
                plan.extra_state(self, state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            known = {*own, *slots, *self._passed_over()}
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    head, dot, _ = key[len(prefix):].partition(".")
                    if head not in (self._modules if dot else known):
                        unexpected_keys.append(key)
        if given is None:
            plan.commit()

    def _passed_over(self) -> set[str]:
        """The names that a state may have without being loaded."""
        return self._non_persistent_buffers_set

    def _empty_slots(self) -> list[str]:
        """The persistent buffers that are None, and that a state may fill."""
        return [name for name, buffer in self._buffers.items()
                if buffer is None and name not in self._non_persistent_buffers_set and name not in self._omitted_buffers]

    # ---- hooks ---------------------------------------------------------------------------------------------------
    def register_state_dict_pre_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before the state of this module is saved.

        >>> layer = nn.Linear(1, 1)
        >>> handle = layer.register_state_dict_pre_hook(lambda module, prefix, keep_vars: print("saving"))
        >>> state = layer.state_dict()
        saving
        """
        return RemovableHandle.add(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)`` after; it may change the dictionary in place.

        >>> def without_bias(module, state, prefix, metadata):
        ...     del state[prefix + "bias"]
        >>> layer = nn.Linear(1, 1)
        >>> handle = layer.register_state_dict_post_hook(without_bias)
        >>> list(layer.state_dict())
        ['weight']
        """
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

        >>> layer = nn.Linear(1, 1)
        >>> handle = layer.register_load_state_dict_pre_hook(lambda module, state, prefix, *rest: print(sorted(state)))
        >>> _ = layer.load_state_dict({"weight": lucid.ones(1, 1), "bias": lucid.zeros(1)})
        ['bias', 'weight']
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., None], with_module: bool = False
                                           ) -> RemovableHandle:
        return RemovableHandle.add(self._load_state_dict_pre_hooks, BoundHook(hook, self) if with_module else hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., None]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after the load, before a strict load looks at the keys; it may change the
        two lists in place.

        >>> layer = nn.Linear(1, 1)
        >>> handle = layer.register_load_state_dict_post_hook(lambda module, keys: print("missing:", keys.missing_keys))
        >>> _ = layer.load_state_dict({"weight": lucid.ones(1, 1)}, strict=False)
        missing: ['bias']
        """
        return RemovableHandle.add(self._load_state_dict_post_hooks, hook)


class BoundHook:
    """A hook that is called with its module first; a copied module gets one bound to the copy.

    The module holds the hook: a strong reference back would keep it alive until the garbage collector runs.
    """

    def __init__(self, hook: Callable[..., Any], module: Any) -> None:
        self.hook = hook
        self.module: weakref.ref[Any] = weakref.ref(module)

    def __call__(self, *args: Any) -> Any:
        return self.hook(self.module(), *args)

    def __getstate__(self) -> tuple[Callable[..., Any], Any]:
        return self.hook, self.module()

    def __setstate__(self, state: tuple[Callable[..., Any], Any]) -> None:
        self.__init__(*state)  # type: ignore[misc]


def _plan(root: StateDict, state: StateDictionary, prefix: str, metadata: Any, plan: Plan, keys: IncompatibleKeys,
          errors: list[str]) -> list[StateDict]:
    """Let `root` and all modules below plan their load; the modules with hooks to call after it, in their order."""
    local_metadata = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
    local_metadata[PLAN] = plan
    if plan.assign:
        local_metadata["assign_to_params_buffers"] = True
    root._load_from_state_dict(state, prefix, local_metadata, True, keys.missing_keys, keys.unexpected_keys, errors)
    hooked: list[StateDict] = []
    for name, child in root._modules.items():
        if child is not None:
            child_prefix = f"{prefix}{name}."
            below = StateDictionary((key, value) for key, value in state.items() if key.startswith(child_prefix))
            hooked += _plan(child, below, child_prefix, metadata, plan, keys, errors)
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
