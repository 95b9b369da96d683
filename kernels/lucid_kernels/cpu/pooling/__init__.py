"""Pooling and its gradients.

`pool2d`: the kernels.
`implementations`: which algorithm pools planes.
`__main__`: `explain` on the command line.
`max_2x2`, `max_2x2_microkernels`: 2x2 windows with stride 2.
`max_planes`, `max_microkernels`: any windows.
`adaptive_max`, `range_microkernels`: windows without gaps, given by their first and last rows and columns.
`avg`: any windows, as products with bands of ones.
`global_avg`: whole planes.
`fractional_max`: windows that begin anywhere.
`windows`: where windows lie along an axis.

Indices of maxima are int64, flat in the plane of the input, as in PyTorch: the first maximum in row order, and NaN wins.
With `relu` the maxima go through ReLU, and the index is -1 where it lets no gradient pass.
"""
from ..runtime import numba_import as numba_import
