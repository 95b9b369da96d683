"""Convolution of one to three dimensions, and its gradients. Begin with `implementations`, the list of the algorithms.

`conv2d`: the kernels for images.
`implementations`, `problem`: which algorithm computes a layer, and what that depends on.
`__main__`: `explain` on the command line.
`conv3d`: the kernels for volumes, or None where slices stacked as images are faster.
`winograd`, `depthwise`, `pointwise`, `direct`: the algorithms, a package each.
`gemm`: taps that cover the image, as one product.
`patch_embedding`: patches that do not overlap, as one product.
`im2row`: a copy of the image for each column of taps.
`channels_last`: bands of an image with neighbouring channels, for Winograd's transforms.
`dilation_bands`: output rows that use the same rows of taps.
`image_batch`: where the images of a batch or the slices of a volume lie.
`volume`: which input slices each output slice reads.

Winograd suits 3x3 taps with stride 1 and 16 channels or more, `depthwise` one input channel a group, `pointwise` 1x1 taps,
`direct` the rest. Where the taps cover the whole image, a convolution is a product of matrices.
"""
from ..runtime import numba_import as numba_import
