"""Elements by index on the CPU.

`elements`: reading and writing them.
`scatter`: adding to them.
`masks`: choosing them by a mask, and `nonzero`.
`nll_loss`: the negative log-likelihood of class indices.
`embedding_bag`: sums and maxima of table rows.
"""
