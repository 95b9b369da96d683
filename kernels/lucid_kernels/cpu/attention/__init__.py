"""Scaled dot-product attention, tile by tile (flash attention).

`attention`: the kernels; chooses between decoding and tiles.
`forward`, `backward`: the loops over tiles.
`decode`: few queries, as in text generation.
`tiles`: softmax and masks of one tile.
`products`: products with a tile of scores, without what a causal mask hides.
`prefetch`: rows of the next head, loaded ahead of use.
`microkernels`: loops over the rows of a tile.

Probabilities are `exp(score - shift) * factor`. Two values are kept for each query: their single logarithm would lose the
factor where scores are large.
"""
from ..runtime import numba_import as numba_import
