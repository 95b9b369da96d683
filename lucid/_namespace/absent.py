"""Attributes that a module does not have yet: what is imported when it is first asked for, and, for what PyTorch has and lucid
lacks, an error that says what to do instead.
"""
from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
from typing import Any

from .builtins import publish
from .lazy import LAZY, load

_COMPILE = "lucid.compile records what a function runs, and replays it; lucid.fuse compiles a function of elementwise operations"
_CODE = "a model is Python code and its state_dict, which lucid.save keeps"
_DENSE = "tensors are dense or sparse"
_QUANTIZED = "there are no quantized tensors"
_INSTEAD = {
    "jit": _COMPILE,
    **dict.fromkeys(("export", "package"), _CODE),
    "nested": _DENSE,
    **dict.fromkeys(("ao", "quantization", "quantize_per_tensor", "quantize_per_channel", "qint8", "quint8"), _QUANTIZED),
}


def _absent(module: str, name: str) -> Any:
    where = LAZY.get(module, {}).get(name)
    if where is not None:
        space = vars(sys.modules[module])
        space[name] = load(where)  # from now on without this function
        if module == "lucid":
            publish(space, [name])
        return space[name]
    message = f"module {module!r} has no attribute {name!r}"
    if name in _INSTEAD:
        message += f": {_INSTEAD[name]}. docs/coverage.md lists what PyTorch has and lucid lacks"
    raise AttributeError(message, name=name)


def _offered(module: str) -> list[str]:
    return sorted({*vars(sys.modules[module]), *LAZY.get(module, ())})


def explain(*modules: str) -> None:
    """Let the errors for attributes that `modules` lack say what to do instead, and `dir` offer what comes when asked for."""
    for module in modules:
        space = vars(sys.modules[module])
        space["__getattr__"] = functools.partial(_absent, module)
        space["__dir__"] = functools.partial(_offered, module)


def listed(module: str, but: Iterable[str] = ()) -> list[str]:
    """The public names of a module, for its `__all__`: what it has and what is imported when it is first asked for."""
    return [name for name in _offered(module) if name.isidentifier() and not name.startswith("_") and name not in but]
