"""Convolutions as sums of products over the taps, in register blocks."""
