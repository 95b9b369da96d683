"""Chains of small datasets, by the names of torch.utils.data.datapipes: ``IterableWrapper(files).map(read).shuffle().batch(32)``.

`pipes`: the base classes, and the names of functions for chains.
`graph`: all pipes of a chain, and settings for them.
`iter`: streams.
`combining`: streams of several streams, and several of one.
`files`: streams of files.
`map`: samples by index.

>>> from lucid.data.datapipes.iter import IterableWrapper
>>> list(IterableWrapper(range(5)).map(lambda x: x * x).batch(2))
[[0, 1], [4, 9], [16]]
"""
from . import graph, iter, map, pipes

__all__ = ["graph", "iter", "map", "pipes"]
