"""Weight normalization by a hook before each forward pass: the older form of `parametrizations.weight_norm`."""
from __future__ import annotations

import warnings
from typing import Any

from ...ops.linalg.norm import norm_except_dim
from ...tensor import Tensor
from ..modules.module import Module
from ..parameter import Parameter, is_lazy

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


def scaled(direction: Tensor, magnitude: Tensor, dim: int) -> Tensor:
    """`direction` divided by its norm over all dimensions but `dim` (all, for -1), times `magnitude`."""
    return direction * (magnitude / norm_except_dim(direction, 2, dim))


class WeightNorm:
    """The hook: it computes the weight `name` of a module from its parameters `name`_g and `name`_v."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    @property
    def computes(self) -> str:
        """The attribute of the module that the hook computes before every call: `Module.to` may leave it behind."""
        return self.name

    def compute_weight(self, module: Module) -> Tensor:
        """The weight: g times the direction of v."""
        return scaled(getattr(module, f"{self.name}_v"), getattr(module, f"{self.name}_g"), self.dim)

    @staticmethod
    def apply(module: Module, name: str, dim: int | None) -> WeightNorm:
        """Split the parameter `name` of `module` and register the hook, which is returned."""
        warnings.warn("`lucid.nn.utils.weight_norm` is deprecated in favor of `lucid.nn.utils.parametrizations.weight_norm`.",
                      FutureWarning, stacklevel=3)
        if any(isinstance(hook, WeightNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError("The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy "
                             "forward before applying weight normalization")
        del module._parameters[name]
        module.register_parameter(f"{name}_g", Parameter(norm_except_dim(weight, 2, hook.dim).data))
        module.register_parameter(f"{name}_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again, with its present value."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"]
        del module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Write the parameter `name` of `module` as magnitude `name`_g times the direction of `name`_v (Salimans and Kingma,
    "Weight normalization", 2016), computed before each forward pass; returns `module`.

    The norm is over all dimensions but `dim`, over all for None. Deprecated: see `parametrizations.weight_norm`. Raises
    RuntimeError if that is done already.

    >>> layer = nn.utils.weight_norm(nn.Linear(2, 3))
    >>> layer.weight_g.shape, layer.weight_v.shape
    (lucid.Size([3, 1]), lucid.Size([3, 2]))
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Module, name: str = "weight") -> Module:
    """Undo `weight_norm`: the weight is one parameter again, with its present value. Raises ValueError if there is none.

    >>> layer = nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(2, 3)))
    >>> sorted(layer.state_dict())
    ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
