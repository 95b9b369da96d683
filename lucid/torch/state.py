"""How PyTorch converts, loads and copies state: buffers become other objects, a load that fails has written what fits, and an
optimizer takes the tensors that it loads.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lucid._dtypes import float32
from lucid.autograd.grad_mode import no_grad
from lucid.nn.modules.module import Module
from lucid.nn.modules.module.loading import IncompatibleKeys, Plan
from lucid.nn.modules.module.materialize import recomputed_buffers
from lucid.nn.modules.module.memoised_conversion import MemoisedConversion
from lucid.nn.modules.module.state_dict import PLAN, StateDictionary
from lucid.nn.parameter import Buffer, Parameter, is_lazy
from lucid.tensor import Tensor, array_behind, version_box, wrap


# ---- converting --------------------------------------------------------------------------------------------------------------
def apply(self: Module, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Module:
    """Put ``fn(it)`` behind the object of each parameter and gradient, and in the place of each buffer."""
    if recurse:
        for module in self.children():
            module._apply(fn)
    for name, parameter in self._parameters.items():
        if parameter is not None:
            with no_grad():
                self._parameters[name] = _converted_parameter(fn, parameter)
    for name, buffer in self._buffers.items():
        if buffer is not None:
            self._buffers[name] = _put_behind(buffer, fn(_given(buffer))) if is_lazy(buffer) else fn(buffer)
    return self


def _converted_parameter(fn: Callable[[Tensor], Tensor], parameter: Parameter) -> Parameter:
    """The object that holds the converted parameter: the same one, but from and to the device 'meta'."""
    converted, gradient = fn(_given(parameter)), parameter._grad
    if converted.is_meta != parameter.is_meta and not is_lazy(parameter):
        made = Parameter(converted, parameter.requires_grad)
        made._grad = None if gradient is None else fn(gradient)
        return made
    _put_behind(parameter, converted)
    if gradient is not None:
        _put_behind(gradient, fn(gradient))
    return parameter


def _given(tensor: Tensor) -> Tensor:
    return wrap(array_behind(tensor)) if is_lazy(tensor) else tensor


def _put_behind(tensor: Tensor, converted: Tensor) -> Tensor:
    if converted._array is not array_behind(tensor):
        tensor._swap_array(converted._array)
        tensor._version_box = version_box(converted)
        tensor._view = None
    return tensor


def apply_memoised(self: Module, conversion: MemoisedConversion) -> Module:
    """Convert tensor by tensor: what shared memory does not share it afterwards."""
    def convert(tensor: Tensor) -> Tensor:
        keeps_dtype = isinstance(tensor, Buffer) and not tensor.cast
        return (conversion._uncast if keeps_dtype else conversion._convert)(tensor)

    return self._apply(convert)


def copy_parameter(self: Parameter, memo: dict[int, Any]) -> Any:
    """What `copy.deepcopy` makes of a parameter: memory of its own, and nothing else that hangs on the object."""
    if id(self) not in memo:
        memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
    return memo[id(self)]


def _lazy_load_hook(self: Any, *args: Any) -> None:
    """What PyTorch's lazy modules do before their state is loaded: lucid's do it when they load it."""


def restore_lazy(self: Any, state: dict[str, Any]) -> None:
    """Give a lazy module its state, of a pickle that may be PyTorch's."""
    handle = state.pop("_load_hook", None)
    if handle is not None:
        handle.remove()
    Module.__setstate__(self, state)


# ---- loading -----------------------------------------------------------------------------------------------------------------
class _AtOnce(Plan):
    """Writes each tensor of a module when it is found to fit."""

    def __init__(self, assign: bool, module: Module, prefix: str) -> None:
        super().__init__(assign)
        self._module, self._prefix = module, prefix

    def write(self, key: str, target: Tensor, value: Any, errors: list[str]) -> None:
        """Write `value` into `target`, or with `assign` put it in its place."""
        super().write(key, target, value, errors)
        if self._writes and self.assign and not is_lazy(target):
            (_, fitting), = self._writes
            given = value if value.shape == fitting.shape else fitting
            if isinstance(target, Parameter):
                given = (given.requires_grad_(target.requires_grad) if isinstance(given, Parameter) else
                         Parameter(given, target.requires_grad))
            setattr(self._module, key[len(self._prefix):], given)
        else:
            self.commit()
        self._writes = []

    def extra_state(self, module: Any, state: Any) -> None:
        """Give `module` its extra state."""
        module.set_extra_state(state)


def load_state_dict(self: Module, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> IncompatibleKeys:
    """Load module by module; an error about keys and sizes comes when what fits is written."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    keys, errors = IncompatibleKeys([], []), list[str]()
    metadata = getattr(state_dict, "_metadata", None)
    state = StateDictionary(state_dict)
    if metadata is not None:
        state._metadata = metadata
    plans: list[Plan] = []
    _load(self, state, "", metadata, assign, keys, errors, plans)
    source = next((plan.source for plan in plans if plan.source is not None), None)
    for buffer, content in recomputed_buffers(self, source) if assign and source is not None else ():
        buffer._swap_array(content._array)
    self._raise_problems(keys if strict else None, errors)
    return keys


def _load(module: Module, state: StateDictionary, prefix: str, metadata: Any, assign: bool, keys: IncompatibleKeys,
          errors: list[str], plans: list[Plan]) -> None:
    plans.append(_AtOnce(assign, module, prefix))
    local_metadata = {} if metadata is None else dict(metadata.get(prefix[:-1], {}))
    local_metadata[PLAN] = plans[-1]
    if assign:
        local_metadata["assign_to_params_buffers"] = True
    module._load_from_state_dict(state, prefix, local_metadata, True, keys.missing_keys, keys.unexpected_keys, errors)
    for name, child in module._modules.items():
        if child is not None:
            below = f"{prefix}{name}."
            own = StateDictionary((key, value) for key, value in state.items() if key.startswith(below))
            _load(child, own, below, metadata, assign, keys, errors, plans)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                                 "values, if incompatible_keys need to be modified, it should be done inplace.")


def fit(param: Tensor, value: Any, counts: bool, name: Any = None) -> Any:
    """The state of an optimizer that is loaded for `param`: its tensors themselves where dtype and device are right."""
    if isinstance(value, Tensor):
        if name == "step":
            return value.to(param.device, float32) if counts else value
        return value.to(param.device, param.dtype) if param.is_floating_point() else value.to(param.device)
    if isinstance(value, Mapping):
        return {key: fit(param, entry, counts, key) for key, entry in value.items()}
    return type(value)(fit(param, entry, counts) for entry in value) if isinstance(value, list | tuple) else value
