"""How a state is loaded: a plan that is checked while it is made and then carried out, and a snapshot that undoes it."""
from __future__ import annotations

import contextlib
import fnmatch
import warnings
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, NamedTuple, cast

from .... import _dtypes
from ...._writers import writes
from ....autograd.grad_mode import no_grad
from ....autograd.inplace import bump_all
from ....autograd.overwrite import refuse_overlap, refuse_write
from ....backends import Device, run
from ....tensor import Tensor, array_behind, version_box
from ...parameter import Buffer, is_lazy
from .registry import Registry


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` returns: the keys that the module has and the state has not, and the other way round."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    def describe(self) -> list[str]:
        """The lines of the error about missing and unexpected keys, as in PyTorch."""
        return [f"{what} key(s) in state_dict: {', '.join(f'{chr(34)}{name}{chr(34)}' for name in names)}. "
                for what, names in (("Missing", self.missing_keys), ("Unexpected", self.unexpected_keys)) if names]


class Plan:
    """The writes of one load, collected while it is checked and carried out when everything is right."""

    def __init__(self, assign: bool, ignored: tuple[str, ...] = (), device: Device | None = None) -> None:
        self.assign = assign
        self.device = device  # where a tensor goes that fills an empty slot of a module without other state
        self.extra_states: list[tuple[Any, Any]] = []
        self.source: Device | None = None  # where the loaded tensors are, those on the device 'meta' aside
        self._ignored = ignored
        self._writes: list[tuple[Tensor, Tensor]] = []
        self._slots: list[tuple[Registry, str, Tensor]] = []
        self._resized: dict[int, tuple[Any, Tensor]] = {}  # id of an array -> (array, what took its place)

    @property
    def targets(self) -> list[Tensor]:
        """The tensors that the plan writes."""
        return [target for target, _ in self._writes]

    def ignores(self, key: str) -> bool:
        """Whether the caller asked to leave `key` out."""
        return any(fnmatch.fnmatchcase(key, pattern) for pattern in self._ignored)

    def write(self, key: str, target: Tensor, value: Any, errors: list[str]) -> None:
        """Plan to give `target` the elements of `value`, or with `assign` its memory; or add a line to `errors`."""
        if not _is_tensor(key, value, errors):
            return
        if is_lazy(target):
            if not is_lazy(value):  # else there is nothing to load yet
                self._writes.append((target, value.detach()))
            return
        value = value.detach()
        resizable = isinstance(target, Buffer) and target.resizable
        if target.ndim == 0 and value.shape == (1,) and not resizable:
            value = value[0]  # how old checkpoints stored scalars
        if value.shape != target.shape and not resizable:
            errors.append(f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape in "
                          f"current model is {target.shape}.")
            return
        if self.assign and target.requires_grad and not _dtypes.is_differentiable(value.dtype):
            errors.append(f"cannot assign {key}: the parameter requires grad, and a checkpoint of dtype {value.dtype.name} "
                          "cannot.")
            return
        if not self.assign and not self._can_copy(key, target, value, errors):
            return
        if self.source is None and not value.is_meta:
            self.source = value.device
        self._writes.append((target, value))

    def _can_copy(self, key: str, target: Tensor, value: Tensor, errors: list[str]) -> bool:
        """Whether the elements of `value` can be copied into `target`, or else a line in `errors`."""
        nowhere, missing = target.device.type == "meta", value.device.type == "meta"
        if nowhere and not missing:
            warnings.warn(f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current "
                          "model, which is a no-op. load_state_dict(assign=True) puts the loaded memory in its place.",
                          stacklevel=6)
        try:
            if missing and not nowhere:
                raise NotImplementedError("Cannot copy out of meta tensor; no data!")
            if value.shape == target.shape:
                refuse_overlap(target._array)
                refuse_write(target)
        except RuntimeError as error:
            errors.append(f'While copying the parameter named "{key}", whose dimensions in the model are {target.shape} and '
                          f"whose dimensions in the checkpoint are {value.shape}, an exception occurred : {error.args}.")
            return False
        return True

    def fill(self, key: str, module: Any, name: str, value: Any, errors: list[str]) -> None:
        """Plan to make a buffer of `value` in the slot `name` of `module`, which is None; or add a line to `errors`."""
        if not _is_tensor(key, value, errors):
            return
        if value.device.type == "meta" and not self.assign:
            errors.append(f'While copying the parameter named "{key}", an exception occurred : Cannot copy out of meta tensor; '
                          "no data!")
        self._slots.append((module, name, value.detach()))

    def extra_state(self, module: Any, state: Any) -> None:
        """Plan to give `module` its extra state, after all tensors are written."""
        self.extra_states.append((module, state))

    def commit(self) -> None:
        """Do what was planned."""
        with no_grad():
            for target, value in self._writes:
                if is_lazy(target):
                    cast(Any, target).materialize(value.shape)
                if not target.is_leaf:
                    target._node = target._view = None  # what is loaded was not computed
                if self.assign:
                    _share(target, value)
                elif value.shape == target.shape:
                    target.copy_(value)
                else:
                    self._resize(target, value)
        for module, name, value in self._slots:
            content = value if self.assign else value.to(self._device_of(module), copy=True)
            module._buffers[name] = Buffer(content, **module._slot_options.get(name, {}))
        for module, state in self.extra_states:
            module.set_extra_state(state)

    def _resize(self, target: Tensor, value: Tensor) -> None:
        """Put a copy of `value` behind `target`; tensors that shared one array share one afterwards."""
        old = target._array
        new = self._resized.get(id(old), (None, None))[1]
        if new is None or new.shape != value.shape:
            new = value.to(target.device, target.dtype, copy=True)
            self._resized[id(old)] = (old, new)
        else:
            new.copy_(value)
        _share(target, new)

    def _device_of(self, module: Any) -> Device | None:
        for members in (module.parameters(), module.buffers()):
            for tensor in members:
                return tensor.device
        return self.device


class Snapshot:
    """A module as it was: undoes what users' code (hooks, overridden methods) and the load itself have changed.

    Taken before a load that runs code of users, which may raise at any point. References suffice for what is replaced;
    elements are copied for the modules with such code, and for all tensors of the plan where code runs after it.
    """

    def __init__(self, root: Registry) -> None:
        self._modules = []
        self._tensors: dict[int, tuple[Any, ...]] = {}
        self._elements: dict[int, tuple[Tensor, Any, Any, int]] = {}
        self._extra_states: list[tuple[Any, Any]] = []
        for module in root.modules():
            contents = {name: type(value)(value) for name, value in vars(module).items()
                        if name in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")}
            self._modules.append((module, dict(vars(module)), contents))
            own = [t for t in (*module._parameters.values(), *module._buffers.values()) if t is not None]
            for t in own:
                self._tensors[id(t)] = (t, t.__class__, array_behind(t), t._node, t._grad, t._version_box, t._view)
            if module._load_state_dict_pre_hooks or _is_custom(module, "_load_from_state_dict"):
                self.keep_elements(own)

    @classmethod
    def before_users_code(cls, root: Registry) -> Snapshot | None:
        """A snapshot of `root`, or None if nothing but the library's own code runs in a load."""
        def runs_users_code(module: Any) -> bool:
            return bool(module._load_state_dict_pre_hooks or module._load_state_dict_post_hooks
                        or _is_custom(module, "_load_from_state_dict") or _is_custom(module, "set_extra_state"))

        return cls(root) if any(map(runs_users_code, root.modules())) else None

    def keep_elements(self, tensors: list[Tensor]) -> None:
        """Copy what `tensors` contain."""
        for tensor in tensors:
            if id(tensor) not in self._elements and not is_lazy(tensor):
                self._elements[id(tensor)] = (tensor, tensor._array, tensor._array.copy(), version_box(tensor).count)

    def keep_extra_state(self, module: Any) -> None:
        """Copy the extra state of `module`, if it can be asked for and copied."""
        if _is_custom(module, "get_extra_state"):
            with contextlib.suppress(Exception):
                self._extra_states.append((module, deepcopy(module.get_extra_state())))

    @writes("tensor")
    def restore(self) -> None:
        """Put everything back, into the same objects."""
        for module, state in self._extra_states:
            with contextlib.suppress(Exception):  # the error that led here is the one to report
                module.set_extra_state(state)
        for module, attributes, contents in self._modules:
            vars(module).clear()
            vars(module).update(attributes)
            for name, content in contents.items():
                container = attributes[name]
                container.clear()
                container.update(content)
        for t, *state in self._tensors.values():
            t.__class__, t._array, t._node, t._grad, t._version_box, t._view = state
        for tensor, array, elements, version in self._elements.values():
            run("copy", (elements,), {"out": array})
            if version_box(tensor).count != version:
                bump_all((tensor,))


def ignored_patterns(strict: Any) -> tuple[str, ...]:
    """The patterns of ``strict={"ignore": [...]}``; none for a bool. Raises ValueError or TypeError for anything else."""
    if not isinstance(strict, Mapping):
        return ()
    if set(strict) != {"ignore"}:
        raise ValueError(f"strict takes True, False or {{'ignore': [patterns]}}, but got the keys {sorted(map(str, strict))}")
    patterns = strict["ignore"]
    if isinstance(patterns, str) or not all(isinstance(pattern, str) for pattern in patterns):
        raise TypeError(f"strict={{'ignore': ...}} takes a list of patterns such as 'encoder.*', not {patterns!r}")
    return tuple(patterns)


def _is_tensor(key: str, value: Any, errors: list[str]) -> bool:
    if isinstance(value, Tensor):
        return True
    errors.append(f'While copying the parameter named "{key}", expected lucid.Tensor or Tensor-like object from '
                  f"checkpoint but received {type(value)}")
    return False


def _is_custom(module: Any, name: str) -> bool:
    """Whether the method `name` of `module` was written by a user: the library's own only plan."""
    function: Callable[..., Any] = getattr(type(module), name)
    return not (getattr(function, "__module__", None) or "").startswith("lucid.")


def _share(target: Tensor, value: Tensor) -> None:
    """Put the memory of `value` behind the object `target`, which keeps its `requires_grad`."""
    target._swap_array(value._array)
    target._version_box = version_box(value)
    target._grad = target._view = None
