"""The error of what ONNX cannot express."""


class ExportError(RuntimeError):
    """A model that cannot be exported: what it does that a graph of ONNX cannot hold, and in which line.

    >>> issubclass(lucid.onnx.ExportError, RuntimeError)
    True
    """
