"""Batch norm whose running statistics cannot be updated inside of `vmap`."""
from __future__ import annotations

from ..nn.modules.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from ..nn.modules.module import Module


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Turn off the running statistics of all batch norms in `root`, in place, and return it: they use those of their batch.

    >>> model = nn.Sequential(nn.BatchNorm1d(2))
    >>> lucid.func.replace_all_batch_norm_modules_(model)[0].track_running_stats
    False
    """
    for module in root.modules():
        if isinstance(module, (BatchNorm1d, BatchNorm2d, BatchNorm3d)):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
