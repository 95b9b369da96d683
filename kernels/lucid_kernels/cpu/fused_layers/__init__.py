"""Neighbouring layers as one kernel.

`batch_norm_relu`: batch normalisation, a residual and ReLU.
`batch_norm_relu_max_pool2d`: batch normalisation, ReLU and 2x2 max pooling.
`conv2d_relu_max_pool2d`: convolution, ReLU and 2x2 max pooling.
`pooled_grad_weight`: the weight gradient of a convolution through max pooling.

Of a pooled window the position of the maximum is kept as a byte, 0 to 3 in row order, or 4 where ReLU lets no gradient pass:
an eighth of the memory of indices, and the gradient needs no `y`.
"""
from ..runtime import numba_import as numba_import
