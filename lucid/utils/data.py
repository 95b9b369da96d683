"""`lucid.data` by its name in PyTorch, with its modules: `lucid.utils.data.dataset` is `lucid.data.dataset`."""
import sys
from types import ModuleType

from ..data import *  # noqa: F403
from ..data import __all__ as __all__
from ..data import collate, dataloader, datapipes, dataset, distributed, fetch, pin_memory, sampler
from ..data.datapipes import graph, pipes

_utils = ModuleType(f"{__name__}._utils", "What PyTorch keeps in a package of its own, and programs import all the same.")
vars(_utils).update(collate=collate, fetch=fetch, pin_memory=pin_memory)

for _name, _module in {
    "dataloader": dataloader, "dataset": dataset, "distributed": distributed, "sampler": sampler,
    "datapipes": datapipes, "datapipes.iter": datapipes.iter, "datapipes.map": datapipes.map, "datapipes.datapipe": pipes,
    "graph_settings": graph, "_utils": _utils, "_utils.collate": collate, "_utils.fetch": fetch, "_utils.pin_memory": pin_memory,
}.items():
    sys.modules[f"{__name__}.{_name}"] = _module
del collate, fetch, graph, pin_memory, pipes
