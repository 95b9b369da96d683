"""Reductions.

`softmax`: softmax, log-softmax and their gradients.
"""
