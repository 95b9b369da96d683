"""Models as files of ONNX, which other programs run: ``lucid.onnx.export(model, args, "model.onnx")``. It needs the package
onnx, which the extra `onnx` installs.

`export`: the function.
`tracing`, `runs`: records calls of a model, and merges what is the same in all of them.
`graph`: the graph while it is written.
`elementwise`, `shapes`, `writes`, `reductions`, `layers`, `recurrent`: how each operation is written.
`library`: the package onnx.
`errors`: ExportError.

>>> data = lucid.onnx.export(nn.Linear(2, 3), (lucid.ones(1, 2),)).SerializeToString()
>>> len(data) > 0
True
"""
from .errors import ExportError
from .export import export, is_in_onnx_export

__all__ = ["ExportError", "export", "is_in_onnx_export"]
