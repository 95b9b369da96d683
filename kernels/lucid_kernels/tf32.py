"""Whether float32 may be computed as TF32 by the tensor cores of a GPU. `lucid.backends.cudnn` is the public switch."""
from __future__ import annotations

#: float32 convolutions: True as in PyTorch. TF32 keeps 10 of the 23 bits of a factor, and float32 sums.
convolutions = True
