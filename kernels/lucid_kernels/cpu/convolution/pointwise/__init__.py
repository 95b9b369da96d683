"""1x1 taps: a product of matrices for each image.

`forward`: packs pixels and multiplies them by the weight where it lies.
`grad_weight`: one sum of products over the images.
"""
