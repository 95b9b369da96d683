"""Images resized, or read at any coordinates.

`resize`: interpolation as a product with a band of weights along each dimension, so that the gradient scatters nothing.
`resize_microkernels`: weighted sums of rows, and of columns of transposed rows.
`grid_sample`: images and volumes at any coordinates; positions and weights are computed once for all channels.
`bilinear_microkernels`: the four neighbours of many points at once (bilinear gather).
"""
from ..runtime import numba_import as numba_import
