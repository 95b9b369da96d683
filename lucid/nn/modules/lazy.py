"""Modules that learn the shapes of their parameters from their first input."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..parameter import is_lazy
from .module import Module

if TYPE_CHECKING:
    _Base = Module
else:
    _Base = object


class LazyModuleMixin(_Base):
    """For modules with parameters whose shapes follow from the first input; put it before Module among the bases.

    `__init__` assigns `UninitializedParameter` and `UninitializedBuffer`, and `initialize_parameters` materializes them. It is
    called with the arguments of the first call, before `forward`; then the module becomes a `cls_to_become`, if that is not
    None, and nothing of the mixin is left::

        class Scale(LazyModuleMixin, nn.Module):
            def __init__(self):
                super().__init__()
                self.factor = nn.UninitializedParameter()

            def initialize_parameters(self, x):
                if self.has_uninitialized_params():
                    self.factor.materialize(x.shape[-1:])
                    nn.init.ones_(self.factor)

            def forward(self, x):
                return x * self.factor

    Move and cast the module before that call; an optimizer may be made before it, since the parameters stay the same objects.
    State dicts of modules that have been called and of modules that have not can be loaded into one another, except
    uninitialized state into a module that has been called, which raises RuntimeError.
    """

    cls_to_become: type[Any] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialize the parameters and buffers for these arguments of `forward`. Subclasses define it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer of this module itself has no shape yet."""
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def _infer_parameters(self, module: LazyModuleMixin, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        """The pre-hook of the first call."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        del module._initialize_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, True)
        for name, tensor in self._persistent_state().items():
            if not keep_vars and not is_lazy(tensor):
                destination[prefix + name] = tensor.detach()
