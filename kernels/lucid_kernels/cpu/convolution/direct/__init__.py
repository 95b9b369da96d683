"""Sums of products over the taps, in register blocks: the general algorithm.

`forward`: convolution of bands of the image.
`few_outputs`: up to four output channels a group.
`grad_input_strided`: input gradient with strides, which is transposed convolution, phase by phase.
`grad_weight`: weight gradient as dot products.
`outer_grad_weight`: weight gradient of small planes as a product of matrices.
`volumes`: convolution of volumes.
`parts`: bands of the result that use the same rows of taps.
`packed_weight`: the weight in the order in which the blocks read it.
`microkernels`, `copy_microkernels`: the inner loops.

The pixels are read from `im2row`, not from a matrix of columns: KH times fewer values are copied.
"""
