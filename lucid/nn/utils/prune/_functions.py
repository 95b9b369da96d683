"""Pruning as functions: each prunes a parameter of a module in place and returns the module."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ....ops.creation.creation import ones_like
from ....tensor import Tensor
from ...modules.module import Module
from ..convert_parameters import parameters_to_vector
from ._method import BasePruningMethod, PruningContainer
from ._methods import CustomFromMask, Identity, L1Unstructured, LnStructured, RandomStructured, RandomUnstructured


def identity(module: Module, name: str) -> Module:
    """Give the parameter `name` a mask of ones: nothing is pruned yet.

    >>> layer = nn.utils.prune.identity(nn.Linear(2, 3), "bias")
    >>> sorted(layer.state_dict())
    ['bias_mask', 'bias_orig', 'weight']
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Any) -> Module:
    """Prune elements of the parameter `name` at random: a fraction (float) of those left, or a number (int) of them.

    >>> layer = nn.utils.prune.random_unstructured(nn.Linear(4, 4), "weight", amount=5)
    >>> (layer.weight == 0).sum().item()
    5
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: Any, importance_scores: Tensor | None = None) -> Module:
    """Prune the elements of the parameter `name` of the smallest magnitude, or of the smallest `importance_scores`.

    `amount` is a fraction (float) of the elements left, or a number (int) of them.

    >>> layer = nn.utils.prune.l1_unstructured(nn.Linear(4, 4), "weight", amount=0.25)
    >>> (layer.weight == 0).sum().item()
    4
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Any, dim: int) -> Module:
    """Prune slices of dimension `dim` at random: a fraction (float) of those left, or a number (int) of them.

    >>> layer = nn.utils.prune.random_structured(nn.Linear(4, 4), "weight", amount=1, dim=1)
    >>> (layer.weight == 0).sum().item()
    4
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Module, name: str, amount: Any, n: Any, dim: int, importance_scores: Tensor | None = None
                  ) -> Module:
    """Prune the slices of dimension `dim` of the smallest norm of order `n`, of the elements or the `importance_scores`.

    `amount` is a fraction (float) of the slices left, or a number (int) of them.

    >>> layer = nn.utils.prune.ln_structured(nn.Linear(4, 4), "weight", amount=1, n=2, dim=0)
    >>> (layer.weight == 0).sum().item()
    4
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune the parameter `name` where `mask` is 0; the mask has the shape of the parameter and any dtype.

    >>> layer = nn.utils.prune.custom_from_mask(nn.Linear(2, 1), "weight", lucid.tensor([[1.0, 0.0]]))
    >>> layer.weight[0, 1].item()
    0.0
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Iterable[tuple[Module, str]], pruning_method: Callable[..., Any],
                        importance_scores: dict[tuple[Module, str], Tensor] | None = None, **kwargs: Any) -> None:
    """Prune several parameters, given as pairs (module, name), as if they were one tensor.

    `pruning_method` is a class of unstructured pruning, such as `L1Unstructured`, and is called with the keywords, as
    ``amount=0.2``. `importance_scores` maps some of the pairs to the scores to use in the place of the elements.
    Raises TypeError for parameters that are not iterable, scores that are not a dictionary and a method that is not
    unstructured.

    >>> a, b = nn.Linear(4, 4), nn.Linear(4, 4)
    >>> nn.utils.prune.global_unstructured([(a, "weight"), (b, "weight")], nn.utils.prune.L1Unstructured, amount=10)
    >>> ((a.weight == 0).sum() + (b.weight == 0).sum()).item()
    10
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    given = {} if importance_scores is None else importance_scores
    if not isinstance(given, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = [(module, name, getattr(module, name)) for module, name in parameters]
    scores = parameters_to_vector([given.get((module, name), parameter) for module, name, parameter in pairs])
    masks = parameters_to_vector([getattr(module, name + "_mask", ones_like(parameter)) for module, name, parameter in pairs])

    method = pruning_method(**kwargs)
    method._tensor_name = "all"  # a container asks for one: here it is none of a module
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError('Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
                        f"{pruning_method} of type {method.PRUNING_TYPE}")
    mask = PruningContainer(method).compute_mask(scores, masks)
    start = 0
    for module, name, parameter in pairs:
        end = start + parameter.numel()
        custom_from_mask(module, name, mask[start:end].reshape(parameter.shape))
        start = end


def remove(module: Module, name: str) -> Module:
    """Make the pruning of the parameter `name` permanent: zeros stay, mask and hook go, and it is a parameter again.

    Raises ValueError if it is not pruned.

    >>> layer = nn.utils.prune.l1_unstructured(nn.Linear(4, 4), "weight", amount=5)
    >>> layer = nn.utils.prune.remove(layer, "weight")
    >>> sorted(layer.state_dict()), (layer.weight == 0).sum().item()
    (['bias', 'weight'], 5)
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Whether a parameter of `module` or of any module below is pruned.

    >>> nn.utils.prune.is_pruned(nn.Linear(2, 3)), nn.utils.prune.is_pruned(nn.utils.prune.identity(nn.Linear(2, 3), "bias"))
    (False, True)
    """
    return any(isinstance(hook, BasePruningMethod) for part in module.modules() for hook in part._forward_pre_hooks.values())
