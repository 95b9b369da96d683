"""Pruning: parameters with a mask of ones and zeros, as in `torch.nn.utils.prune`.

::

    prune.l1_unstructured(layer, "weight", amount=0.3)  # layer.weight is layer.weight_orig * layer.weight_mask
    prune.remove(layer, "weight")                       # now the zeros are in the parameter itself

`_functions`: pruning as functions.
`_method`: the mask, the hook that applies it, and repeated pruning.
`_methods`: which elements or slices each method prunes.

>>> from lucid.nn.utils import prune
>>> layer = prune.l1_unstructured(nn.Linear(4, 4), "weight", amount=0.5)
>>> (layer.weight == 0).sum().item()
8
"""
from ._functions import (
    custom_from_mask,
    global_unstructured,
    identity,
    is_pruned,
    l1_unstructured,
    ln_structured,
    random_structured,
    random_unstructured,
    remove,
)
from ._method import BasePruningMethod, PruningContainer
from ._methods import CustomFromMask, Identity, L1Unstructured, LnStructured, RandomStructured, RandomUnstructured

__all__ = ["BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
           "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
           "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove"]
