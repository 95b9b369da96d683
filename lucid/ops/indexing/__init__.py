"""Reading and writing by index or mask.

`indexing`: `x[...]`, `index_put`, `take`.
`index_slices`: whole slices by a vector of indices.
`gather`, `scatter`: one element for each index, read and written.
`gather_scatter`: the operations of both, each the gradient of the other.
`masking`: by a mask.
`nonzero`: where elements are not 0.
`index`: an index split into its basic and its advanced part.
"""
