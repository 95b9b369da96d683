"""Models as files of ONNX, which other programs run: ``lucid.onnx.export(model, args, "model.onnx")``. It needs the package
onnx: ``pip install lucid-xp[onnx]``.

`export`: the function.
`tracing`, `runs`: what calls of a model run, and what is the same in all of them.
`graph`: the graph while it is written.
`elementwise`, `shapes`, `reductions`, `layers`, `recurrent`: how each operation is written.
`errors`: the error of what cannot be.
"""
from .errors import ExportError

try:
    from .export import export
except ImportError as error:
    if error.name != "onnx":
        raise
    raise ImportError("lucid.onnx needs the package onnx: pip install onnx") from error

__all__ = ["ExportError", "export"]
