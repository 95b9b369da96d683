"""Passes over a whole graph.

`shape_prop`: the shapes and dtypes of all values.

>>> traced = lucid.fx.symbolic_trace(lambda x: x.sum(0))
>>> _ = lucid.fx.passes.ShapeProp(traced).propagate(lucid.ones(2, 3))
>>> [node.meta["tensor_meta"].shape for node in traced.graph.nodes]
[lucid.Size([2, 3]), lucid.Size([3]), lucid.Size([3])]
"""
from .shape_prop import ShapeProp, TensorMetadata

__all__ = ["ShapeProp", "TensorMetadata"]
