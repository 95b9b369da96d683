"""Neighbouring layers as one kernel.

`batch_norm_relu`: batch normalisation, a residual and ReLU.
`batch_norm_relu_max_pool2d`: batch normalisation, ReLU and 2x2 max pooling.
`conv2d_relu_max_pool2d`: convolution, ReLU and 2x2 max pooling.
"""
