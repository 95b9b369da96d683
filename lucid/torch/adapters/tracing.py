"""Private names of `torch.fx` that libraries import."""
from __future__ import annotations

from lucid.fx._symbolic_trace import (
    PH,
    ProxyableClassMeta,
    Tracer,
    _assert_is_none,
    is_fx_symbolic_tracing,
    is_fx_tracing,
    symbolic_trace,
    wrap,
)
from lucid.fx.graph_module import _KEPT, _CodeOnlyModule, _copy_attr

__all__ = ["PH", "ProxyableClassMeta", "Tracer", "_assert_is_none", "is_fx_symbolic_tracing", "is_fx_tracing", "symbolic_trace",
           "wrap"]

_USER_PRESERVED_ATTRIBUTES_KEY = _KEPT
