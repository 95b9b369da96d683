"""Reading and writing by index or mask.

`indexing`: `x[...]`, `index_put`, `take`.
`index_slices`: whole slices by a vector of indices.
`gather_scatter`: one element for each index.
`scatter_reduce`: many elements to one position.
`masking`: by a mask, and `nonzero`.
`_index`: an index split into its basic and its advanced part.
"""
