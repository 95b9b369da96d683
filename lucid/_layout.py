"""How the elements of a tensor are kept: `strided`, in one memory by strides, or sparse."""
from enum import Enum


class Layout(Enum):
    """The kinds of storage of a tensor's elements that PyTorch names.

    >>> lucid.zeros(2).layout
    lucid.strided
    """

    strided = 0
    sparse_coo = 1
    sparse_csr = 2
    sparse_csc = 3
    sparse_bsr = 4
    sparse_bsc = 5

    def __repr__(self) -> str:
        return f"lucid.{self.name}"

    __str__ = __repr__


strided = Layout.strided
sparse_coo, sparse_csr, sparse_csc = Layout.sparse_coo, Layout.sparse_csr, Layout.sparse_csc
sparse_bsr, sparse_bsc = Layout.sparse_bsr, Layout.sparse_bsc
