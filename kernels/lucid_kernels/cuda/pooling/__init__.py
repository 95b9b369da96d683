"""Pooling of images.

`pool2d`: maxima, averages, adaptive ones, and the gradients.
"""
