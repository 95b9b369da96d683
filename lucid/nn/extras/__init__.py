"""Layers and functions that lucid 2.x has and PyTorch does not, under their names there: `lucid.nn.DropPath` and others.

`functional`: the functions, in `lucid.nn.functional` too.
`activation`: `Swish` and others by other names than PyTorch's.
`blocks`: convolutions with what follows them, and attention to channels.
`regularization`: `DropBlock`, `DropPath`, `GlobalResponseNorm`.
`positions`: embeddings of positions.
`attention`: attention with keys and values that a cache keeps.
`cache`: these caches.
`helpers`: what is in `lucid.nn.utils`, and decorators of modules.
"""
