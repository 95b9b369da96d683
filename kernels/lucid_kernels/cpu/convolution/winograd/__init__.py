"""3x3 taps by F(2x2, 3x3): 16 products for 2x2 outputs in place of 36.

`forward`: convolution and its input gradient.
`grad_weight`: weight gradient.
`dilated`: dilated taps, phase by phase.
`volumes`: volumes, whose slices are transformed once for all taps of the depth.
`tiles`: rows of tiles, transformed.
`transforms`: the transforms in LLVM IR.
`products`: the products in LLVM IR.

Larger tiles would save more, but F(4x4, 3x3) has eight times the rounding error of direct convolution.
"""
