"""Modules by the names that they had before: pickles name the module of each class and function, and programs may import them."""
from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

_PUBLIC = "lucid lucid.nn.functional"
# An old name, and where to look for what it had, in this order.
_MOVED = dict(line.split(maxsplit=1) for line in """
lucid._format lucid.tensor.format
lucid._python_data lucid.tensor.python_data
lucid.nn.uninitialized lucid.nn.parameter
lucid.nn.modules._loading lucid.nn.modules.module.loading
lucid.nn.modules._state_dict lucid.nn.modules.module.state_dict
lucid.nn.modules.margin_loss lucid.nn.modules.loss
lucid.nn.modules.piecewise_activation lucid.nn.modules.activation
lucid.nn.modules.rnn_cells lucid.nn.modules.rnn
lucid.optim._chained lucid.optim.lr_scheduler.chained
lucid.optim._cyclic lucid.optim.lr_scheduler.cyclic
lucid.optim._factors lucid.optim.lr_scheduler.factors
lucid.optim._one_cycle lucid.optim.lr_scheduler.one_cycle
lucid.optim._plateau lucid.optim.lr_scheduler.plateau
lucid.optim._scheduler lucid.optim.lr_scheduler.scheduler
lucid.optim._warm_restarts lucid.optim.lr_scheduler.warm_restarts
lucid.ops._selection lucid.ops.reduction.selection
lucid.ops.reduction._selection lucid.ops.reduction.selection
lucid.ops.extrema lucid.ops.reduction.max_min lucid
lucid.ops.float_parts lucid.ops.elementwise.float_parts
lucid.ops.histogram lucid.ops.sorting.histogram lucid
lucid.ops.linear_algebra_determinant lucid.ops.linalg.det
lucid.ops.linear_algebra_eigen lucid.ops.linalg.eig
lucid.ops.linear_algebra_factors lucid.ops.linalg.qr_svd
lucid.ops.linear_algebra_lu lucid.ops.linalg.lu
lucid.ops.linear_algebra_pseudoinverse lucid.ops.linalg.lstsq_pinv
lucid.ops.linear_algebra_systems lucid.ops.linalg.solve
lucid.ops.linear_algebra_triangular lucid.ops.linalg.triangular
lucid.ops.recurrent lucid.ops.nn.recurrent
lucid.ops.storage lucid.ops.manipulation.storage
lucid.ops.types lucid.ops.creation.types
""".strip().splitlines())
# Modules of functions, all of which are public; below those that are still there and lack some.
_MOVED |= dict.fromkeys((f"lucid.ops.{name}" for name in """
activation attention batch_norm_relu broadcasting convolution ctc_loss distances dropout einsum embedding embedding_bag
fold fractional_pooling grid_sampling grids group_normalization joining likelihood_loss linalg.vectors
linear_algebra_lowrank linear_algebra_products loss margin_loss multi_head_attention nn.ctc_loss nn.likelihood_loss
nn.loss nn.margin_loss normalization norms padding piecewise_activation pooling pooling_dimensions resampling
response_normalization rms_norm search short_time_fourier splitting unpooling vectors""".split()), _PUBLIC)
_LEFT = ("lucid.ops.linalg.vector_norms", "lucid.ops.nn.piecewise_activation", "lucid.ops.sorting.histogram")


def _find_in(module: str, places: str) -> Callable[[str], Any]:
    """The `__getattr__` of `module`, which looks in `places`."""
    def find(name: str) -> Any:
        for place in map(importlib.import_module, places.split()):
            if name in vars(place) and not name.startswith("__"):
                return vars(place)[name]
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return find


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Asked last: a module that is there is not an old name."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """A spec for one of the old names."""
        return importlib.machinery.ModuleSpec(fullname, self) if fullname in _MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        """Let the module look elsewhere."""
        vars(module)["__getattr__"] = _find_in(module.__name__, _MOVED[module.__name__])


def install() -> None:
    """Let the old names be found."""
    sys.meta_path.append(_Finder())
    for module in _LEFT:
        vars(sys.modules[module])["__getattr__"] = _find_in(module, _PUBLIC)
