"""Pooling of images.

`pool2d`: maxima, averages, adaptive ones, and the gradients; those that halve the width of planes by `halving.cu`.
"""
