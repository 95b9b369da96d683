"""Shapes, views, joining and splitting.

`shape`: reshape, view, squeeze, flatten.
`permutation`: dimensions in another order.
`broadcasting`: dimensions of length 1 repeated.
`splitting`: parts along a dimension.
`joining`: `cat`, `stack` and variants.
`_join_split`: joining and splitting without checks, each the gradient of the other.
`repetition`: elements repeated.
`reordering`: `flip`, `roll`, `rot90`.
`diagonals`: triangles and diagonals, and their indices.
`padding`: `pad`.
`grids`: `meshgrid`, combinations, `logspace`.
`strides`: `as_strided`, `unfold`, and changes of the shape in place.
`copies`: views in new memory.
`layouts`: how tensors lie in memory, and tensors over files.
`storage`: the memory behind tensors.
`buffers`: tensors over given memory.
`complex`: complex numbers from real ones and back.
"""
