"""Operations of sparse tensors, under the names of `torch.sparse` (https://docs.pytorch.org/docs/2.13/sparse.html).

A sparse tensor keeps the elements that are not zero: `lucid.sparse_coo_tensor` and `Tensor.to_sparse` make ones by indices
(COO), `lucid.sparse_csr_tensor` and `Tensor.to_sparse_csr` matrices by rows. They are differentiated like others, and run on the
CPU and on a GPU. An operation that has no rule for them raises NotImplementedError; none makes a dense tensor unasked. Imported
when first asked for.

`invariants`: the switch for checks of indices.

>>> a = lucid.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse_csr()
>>> a @ lucid.tensor([[1.0], [10.0]])
Tensor([[20.0],
        [ 3.0]], requires_grad=False)
"""
from __future__ import annotations

from typing import Any

from .._namespace.builtins import publish
from ..ops.sparse.creation import spdiags
from ..ops.sparse.products import addmm, product, sampled_addmm
from ..ops.sparse.reduction import log_softmax, softmax, sum
from ..tensor import Tensor
from .invariants import check_sparse_tensor_invariants

__all__ = ["addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "sampled_addmm", "softmax",
           "spdiags", "sum"]


def mm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of matrices of which at least one is sparse: dense, or sparse of two sparse ones.

    The gradient of a sparse factor is sparse, in its places; that of ``mat1 @ mat2`` is dense.

    >>> a = lucid.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
    >>> lucid.sparse.mm(a, lucid.tensor([[1.0], [10.0]]))
    Tensor([[20.0],
            [ 3.0]], requires_grad=False)
    """
    return product(mat1, mat2, True)


publish(globals(), [name for name in __all__ if not isinstance(globals()[name], type)])
