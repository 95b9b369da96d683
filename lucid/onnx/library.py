"""The package onnx, imported by those who export."""
from __future__ import annotations

from typing import Any

import numpy as np


def library() -> Any:
    """The package. Raises ImportError that says what to install."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError("lucid.onnx.export needs the package onnx: pip install onnx") from error
    return onnx


def element_type(dtype: Any) -> int:
    """ONNX's number for a dtype."""
    return int(library().helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
