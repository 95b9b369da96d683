"""Private names of `torch.fx` that libraries import."""
from __future__ import annotations

from lucid.fx import graph_module
from lucid.fx._symbolic_trace import (
    PH,
    ProxyableClassMeta,
    Tracer,
    is_fx_symbolic_tracing,
    is_fx_tracing,
    symbolic_trace,
    wrap,
)

__all__ = ["PH", "ProxyableClassMeta", "Tracer", "is_fx_symbolic_tracing", "is_fx_tracing", "symbolic_trace", "wrap"]

_USER_PRESERVED_ATTRIBUTES_KEY = graph_module._USER_PRESERVED_ATTRIBUTES_KEY
_CodeOnlyModule, _copy_attr = graph_module._CodeOnlyModule, graph_module._copy_attr
