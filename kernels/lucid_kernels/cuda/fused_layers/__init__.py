"""Neighbouring layers as one kernel.

`batch_norm_relu`: batch normalisation, a residual and ReLU.
"""
