"""Convolutions of 1x1 taps: products of matrices."""
