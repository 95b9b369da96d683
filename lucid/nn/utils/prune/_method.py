"""What every method of pruning shares: the mask beside the parameter, the hook that applies it, and repeated pruning."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

from ....ops.creation.creation import ones_like
from ....tensor import Tensor
from ...modules.module import Module
from ...parameter import Parameter


class BasePruningMethod(ABC):
    """A method of pruning: a subclass defines `compute_mask` and `PRUNING_TYPE`.

    Pruned, the parameter `weight` of a module is the parameter `weight_orig`, the buffer `weight_mask` of ones and zeros,
    and an ordinary attribute `weight`, their product, which this object computes as a forward pre-hook of the module.

    `PRUNING_TYPE` says what a method sees of a parameter that is pruned again: "unstructured" the elements that are left, as
    a tensor of one dimension; "structured" the slices of dimension `self.dim` in which any is left; "global" everything.

    >>> from lucid.nn.utils import prune
    >>> class Negative(prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         return default_mask * (t > 0)
    >>> layer = nn.Linear(2, 3)
    >>> _ = Negative.apply(layer, "weight")
    >>> bool((layer.weight >= 0).all())
    True
    """

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: str  # set by `apply`

    def __call__(self, module: Module, inputs: Any) -> None:
        """The forward pre-hook: compute the pruned parameter again from the original and the mask."""
        setattr(module, self._tensor_name, self.apply_mask(module))

    @property
    def computes(self) -> str:
        """The attribute of the module that the hook computes before every call: `Module.to` may leave it behind."""
        return self._tensor_name

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for importance scores `t`: a tensor of the same shape, 0 where `default_mask` is 0."""

    def apply_mask(self, module: Module) -> Tensor:
        """The original parameter times the mask, differentiable with respect to the original."""
        mask: Tensor = getattr(module, self._tensor_name + "_mask")
        original: Tensor = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
              ) -> BasePruningMethod:
        """Prune the parameter `name` of `module` by ``cls(*args, **kwargs)`` and return the hook that was registered.

        `importance_scores`, a tensor of the shape of the parameter, are looked at in the place of its elements. A parameter
        that is pruned already is pruned further: the hook becomes a `PruningContainer` of all methods so far.
        Raises AttributeError if there is no such attribute, TypeError if it is not a parameter, AssertionError for scores of
        another shape, and what `compute_mask` raises; after an error the module is as it was.
        """
        found = {key: hook for key, hook in module._forward_pre_hooks.items()
                 if isinstance(hook, BasePruningMethod) and hook._tensor_name == name}
        if len(found) > 1:
            raise AssertionError(f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a "
                                 "PruningContainer.")
        method = cls(*args, **kwargs)
        method._tensor_name = name
        parameter = getattr(module, name)
        scores = parameter if importance_scores is None else importance_scores
        if importance_scores is not None and importance_scores.shape != parameter.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}, got "
                                 f"{importance_scores.shape} vs {parameter.shape}")
        if not found:
            if not isinstance(parameter, Parameter):
                raise TypeError(f"only a parameter can be pruned, but '{name}' of {module} is a {type(parameter).__name__}")
            method._install(module, parameter, method.compute_mask(scores, default_mask=ones_like(parameter)))
            module.register_forward_pre_hook(method)
            return method
        (key, hook), = found.items()
        container = PruningContainer(*(hook if isinstance(hook, PruningContainer) else (hook,)), method)
        mask = getattr(module, name + "_mask").detach().clone()
        container._install(module, None, container.compute_mask(scores, default_mask=mask))
        if isinstance(hook, PruningContainer):  # whoever holds the container of this parameter keeps holding it
            hook.add_pruning_method(method)
            container = hook
        del module._forward_pre_hooks[key]
        module.register_forward_pre_hook(container)
        return container

    def _install(self, module: Module, original: Parameter | None, mask: Tensor) -> None:
        """Put the mask, the product and, for a parameter that was not pruned yet, `original` in their places, or change
        nothing.
        """
        name, state = self._tensor_name, module.__dict__
        before = {key: state[key].copy() for key in ("_parameters", "_buffers", "_non_persistent_buffers_set")}
        try:
            if original is not None:
                module.register_parameter(name + "_orig", original)
                del module._parameters[name]
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, self.apply_mask(module))
        except Exception:
            state.update(before)
            raise

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """`t` times the mask that its elements, or the `importance_scores`, lead to; no module is involved.

        Raises AssertionError for scores of another shape.
        """
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t, got "
                                 f"{importance_scores.shape} vs {t.shape}")
        scores = t if importance_scores is None else importance_scores
        return t * self.compute_mask(scores, default_mask=ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Make the pruning of `module` permanent: the original parameter gets its old name and the pruned elements.

        The hook stays; the function `prune.remove` removes both.
        """
        name = self._tensor_name
        pruned = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters.pop(name + "_orig")
        original.data = pruned.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """The methods that pruned one parameter, in their order. ``PruningContainer(method, ...)``; the last computes the mask.

    Raises AttributeError for methods that have not been applied to a parameter, TypeError for something else than a method
    and ValueError for methods of parameters of different names.

    >>> prune = nn.utils.prune
    >>> layer = nn.Linear(2, 3)
    >>> for _ in range(2):
    ...     _ = prune.l1_unstructured(layer, "weight", amount=1)
    >>> [type(hook).__name__ for hook in layer._forward_pre_hooks.values()]
    ['PruningContainer']
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Add `method`, which acts on a parameter of the same name. Raises as the constructor does."""
        if method is not None:
            if not isinstance(method, BasePruningMethod):
                raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
            if self._tensor_name != method._tensor_name:
                raise ValueError(f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                                 f"PruningContainer {self}. Found '{method._tensor_name}'")
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` with what the last method prunes of the rest, in the dtype of `t`.

        Raises ValueError for a `PRUNING_TYPE` that is not known, AttributeError for a structured method without `dim` and
        IndexError for one whose `dim` is out of range.
        """
        method = self._pruning_methods[-1]
        rest: Any
        if method.PRUNING_TYPE == "unstructured":
            rest = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            rest = _slices_left(method, default_mask)
        elif method.PRUNING_TYPE == "global":
            rest = (slice(None),) * t.ndim
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask = default_mask.to(dtype=t.dtype, copy=True)
        mask[rest] = method.compute_mask(t[rest], default_mask=default_mask[rest]).to(dtype=mask.dtype)
        return mask


def _slices_left(method: BasePruningMethod, mask: Tensor) -> tuple[Any, ...]:
    """The index of the slices of dimension `method.dim` that `mask` has not pruned altogether."""
    if not hasattr(method, "dim"):
        raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
    dim = method.dim + mask.ndim if method.dim < 0 else method.dim
    if not 0 <= dim < mask.ndim:
        raise IndexError(f"dimension {method.dim} is out of bounds for a tensor of {mask.ndim} dimensions")
    others = [d for d in range(mask.ndim) if d != dim]
    left = mask.sum(dim=others) != 0 if others else mask != 0
    return (*[slice(None)] * dim, left, *[slice(None)] * (mask.ndim - dim - 1))
