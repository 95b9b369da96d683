"""Sparse tensors: their operations, made of those of dense ones on their parts, and the rules of operations by name.

Imported with the first sparse tensor. Gradients of sparse tensors are sparse or dense tensors of the same shape, and both
differentiate again: a sparse tensor is made of its values, and gives them back, as recorded operations.

`parts`: what a sparse tensor is made of.
`coalescing`: one value for each place, in order; which places are those of others.
`values`: from values to a sparse tensor and back.
`layouts`: from one layout to another.
`creation`: new sparse tensors, and the checks of their indices.
`elementwise`: sums, products and functions that keep zeros.
`older_names`: products by names that stand in PyTorch's own namespace only.
`products`: products of matrices.
`reduction`: sums, norms and softmax.
`shape`: transposition, joining and selecting.
"""
from . import elementwise, products, reduction, shape
