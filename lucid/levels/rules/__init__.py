"""The rules of operations on batched arrays, by name; what has none here is computed for one batch element after the other.

`basis`: what the rules share.
`elementwise`, `reductions`, `shapes`: one operand or several in step; along dimensions; views, joins and Fourier transforms.
`indexing`, `linalg`: elements by index; products and matrices.
`images`, `layers`: convolutions and pooling; normalisations and losses.
"""
from __future__ import annotations

from ...backends.merge import merge
from . import elementwise, images, indexing, layers, linalg, reductions, shapes

RULES = merge(*[family.RULES for family in (elementwise, images, indexing, layers, linalg, reductions, shapes)])
