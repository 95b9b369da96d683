"""Scaled dot-product attention.

`attention`: forward and backward; the gradient computes the probabilities again.
"""
