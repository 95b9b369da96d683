"""`lucid.data` by its name in PyTorch, with its modules: `lucid.utils.data.dataset` is `lucid.data.dataset`."""
import sys

from ..data import *  # noqa: F403
from ..data import __all__ as __all__
from ..data import dataloader, dataset, distributed, sampler

for _name, _module in {"dataloader": dataloader, "dataset": dataset, "distributed": distributed, "sampler": sampler}.items():
    sys.modules[f"{__name__}.{_name}"] = _module
