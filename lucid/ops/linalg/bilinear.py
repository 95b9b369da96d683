"""The bilinear form of two vectors."""
from __future__ import annotations

from ...tensor import Tensor
from .._operands import require_same_dtype, require_tensor

__all__ = ("bilinear",)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[o] @ input2 + bias[o]`` for each o: (…, I) and (…, J) with `weight` (O, I, J) to (…, O).

    Raises RuntimeError for shapes and dtypes that do not fit.

    >>> F.bilinear(lucid.ones(1, 2), lucid.ones(1, 3), lucid.ones(4, 2, 3))
    Tensor([[6.0, 6.0, 6.0, 6.0]], requires_grad=False)
    """
    for tensor in (input1, input2, weight):
        require_tensor("bilinear", tensor)
    require_same_dtype("bilinear", input1, input2, weight, bias)
    lead, (outputs, first, second) = input1._array.shape[:-1], weight._array.shape
    if input2._array.shape[:-1] != lead:
        raise RuntimeError(f"bilinear(): input batch dimensions do not match: got {list(input1.shape)} and {list(input2.shape)}")
    if (input1._array.shape[-1], input2._array.shape[-1]) != (first, second):
        raise RuntimeError(f"bilinear(): input sizes do not match weight size: got {list(input1.shape)} and {list(input2.shape)} "
                           f"for a weight of {list(weight.shape)}")
    if bias is not None and bias._array.shape != (outputs,):
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {list(bias.shape)} but expected [{outputs}]")
    rows = input1.reshape(-1, first) @ weight.transpose(0, 1).reshape(first, outputs * second)
    result = (rows.reshape(-1, outputs, second) @ input2.reshape(-1, second, 1)).reshape(*lead, outputs)
    return result if bias is None else result + bias
