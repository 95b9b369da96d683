"""PyTorch's own files (.pt, .pth, .bin), without PyTorch and without running anything that is in them.

`unpickling`: reads a pickle with a list of what it may contain.
`objects`: what may be in one: tensors, parameters, sizes, dtypes, devices, plain containers.
`archive`: the zip format, since PyTorch 1.6: reads and writes.
`legacy`: the format before.
`pickling`: writes a pickle that `torch.load` reads.
"""
from .archive import is_archive, read_archive, write
from .legacy import is_legacy, read_legacy
from .pickling import tensors_in

__all__ = ["is_archive", "is_legacy", "read_archive", "read_legacy", "tensors_in", "write"]
