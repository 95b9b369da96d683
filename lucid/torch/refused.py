"""Names that PyTorch has and lucid has not: modules may import them at their top, derive from them and ask `isinstance`; to call
one raises.
"""
from __future__ import annotations

import sys
from typing import Any, NoReturn

from . import trace

_GRAPHS = "a model is Python code here: run it as it is, or record its steps with torch.compile"
_DENSE = "tensors are dense here: make this one dense"
#: What to do instead, by the beginnings of names; the longest counts.
_INSTEAD = {
    "torch.jit": _GRAPHS, "torch.fx": _GRAPHS,
    "torch.export": f"{_GRAPHS}; keep its state_dict",
    "torch.onnx": "keep the state_dict, and export it where PyTorch is",
    "torch.sparse": _DENSE, "torch.sparse_": _DENSE, "torch.nested": f"{_DENSE}, padded, with a mask",
    "torch.ao": "there are no quantized tensors here: leave quantization out", "torch.q": "there are no quantized tensors here",
    "torch.distributed": "run on one device", "torch.nn.attention.flex_attention": "give scaled_dot_product_attention a mask",
    "torch.profiler": "time with time.perf_counter after torch.cuda.synchronize()",
    "torch.utils.cpp_extension": "C++ and CUDA extensions of PyTorch need PyTorch: take the Python path of the package",
    "torch._dynamo": _GRAPHS, "torch.package": "keep the state_dict", "torch.hub": "load the file from this machine",
}


class Refused(NotImplementedError):
    """Something of PyTorch that lucid does not have was used."""


def refuse_use(full: str) -> NoReturn:
    """Raise `Refused` for the name `full`, with the line that used it and what to do instead."""
    beginnings = [beginning for beginning in _INSTEAD if full.startswith(beginning)]
    advice = _INSTEAD[max(beginnings, key=len)] if beginnings else "docs/torch.md lists what there is"
    raise Refused(f"lucid has no {full}, used at {trace.caller(sys._getframe(1))}: {advice}")


class _Kind(type):
    """The type of what is refused: its objects are classes, so that they can stand in annotations and among bases."""

    _full: str

    def __call__(cls, *args: Any, **keywords: Any) -> Any:
        refuse_use(cls._full)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") or name == "dtype":  # which NumPy asks for, when a dtype is compared with this
            raise AttributeError(name)
        return refused(f"{cls._full}.{name}")

    def __getitem__(cls, parameters: Any) -> Any:
        return cls  # in annotations

    def __bool__(cls) -> bool:
        refuse_use(cls._full)  # it may be a number or a flag in PyTorch

    def __str__(cls) -> str:
        return cls._full  # dtypes are looked up by it

    def __repr__(cls) -> str:
        return f"<{cls._full}, which lucid does not have>"


def refused(full: str) -> Any:
    """A stand-in for the name `full`."""
    module, _, name = full.rpartition(".")
    return _Kind(name, (), {"_full": full, "__module__": module})
