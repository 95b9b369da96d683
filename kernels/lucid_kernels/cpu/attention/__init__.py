"""Attention tile by tile, forward and backward, and for a few queries."""
