"""Convolution of images.

`conv2d`: forward, and the gradients of input, weight and bias.
"""
