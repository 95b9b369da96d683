"""`torch.fx.passes.shape_prop`."""
from __future__ import annotations

from lucid.fx.passes.shape_prop import ShapeProp, TensorMetadata

__all__ = ["ShapeProp", "TensorMetadata"]
