"""What is imported when it is first asked for, so that ``import lucid`` stays short: a namespace, a name in it, where it is."""
from __future__ import annotations

import importlib
from typing import Any

_MODULES = "compiler distributed distributions multiprocessing testing types"
_TRANSFORMS = {"batches": "vmap", "reverse": "grad grad_and_value vjp jacrev", "forward": "jvp jacfwd hessian linearize",
               "batch_norm": "replace_all_batch_norm_modules_", "functional": "functionalize"}
#: "module:name", or a module.
LAZY: dict[str, dict[str, str]] = {
    "lucid": {**{name: f"lucid.{name}" for name in _MODULES.split()}, "vmap": "lucid.func.batches:vmap",
              "compile": "lucid.compiler.compiled:compile"},
    "lucid.func": {name: f"lucid.func.{module}:{name}" for module, names in _TRANSFORMS.items() for name in names.split()},
    "lucid.nn": {name: f"lucid.nn.{name}" for name in ("attention", "common_types")},
}


def load(where: str) -> Any:
    """The module or the object in it that an entry of `LAZY` names."""
    module, _, name = where.partition(":")
    found = importlib.import_module(module)
    return getattr(found, name) if name else found
