"""Functions that stay functions where a class has them as attributes: ``class A: f = lucid.relu``, then ``A().f(x)``.

So do PyTorch's, which are built in, except for those that it has written in Python. Of what wraps a function in Python,
`functools.partial` does not bind and costs least, 20 ns a call; in Python 3.13 it warns there, and a derived class does not.
"""
from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterable
from typing import Any

from .forwarding import deferring, takes_tensors
from .keywords import with_all_keywords

#: The functions of PyTorch's own namespace that are written in Python.
PYTHON = frozenset("""
_assert _check _check_index _check_is_size _check_not_implemented _check_tensor_all _check_tensor_all_with _check_type
_check_value _check_with get_deterministic_debug_mode get_device_module is_warn_always_enabled set_default_tensor_type
set_deterministic_debug_mode set_warn_always sym_float sym_fresh_size sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum
are_deterministic_algorithms_enabled atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors
cartesian_prod cdist chain_matmul compile einsum from_dlpack fuse get_default_device get_float32_matmul_precision get_rng_state
initial_seed is_deterministic_algorithms_warn_only_enabled is_storage is_tensor load lu manual_seed meshgrid norm pca_lowrank
save seed set_default_device set_default_dtype set_float32_matmul_precision set_printoptions set_rng_state split stft
svd_lowrank tensordot typename unique unique_consecutive unravel_index use_deterministic_algorithms vmap lobpcg""".split())


class _Unbound(functools.partial):
    def __get__(self, instance: Any, owner: Any = None) -> _Unbound:
        return self


_Function = _Unbound if sys.version_info >= (3, 13) else functools.partial  # in 3.11 a derived class takes 40 to 110 ns
_made: dict[Any, Any] = {}  # so that a function has one object in all namespaces


def publish(namespace: dict[str, Any], names: Iterable[str]) -> None:
    """Put such an object in the place of each of the functions `names` of a module, whose `namespace` this is."""
    for name in names:
        function = namespace[name]
        if inspect.isfunction(function):
            namespace[name] = _made.get(function) or _made.setdefault(function, _public(function, namespace["__name__"], name))


def _public(function: Any, module: str, name: str) -> Any:
    own = with_all_keywords(function)
    own = deferring(own, name) if takes_tensors(function) else own
    if module == "lucid" and name in PYTHON:
        return own
    made: Any = functools.update_wrapper(_Function(own), function)
    made.__module__, made.__name__, made.__qualname__ = module, name, name
    made.__reduce_ex__ = lambda protocol: name  # pickled by its name, as functions are
    return made
