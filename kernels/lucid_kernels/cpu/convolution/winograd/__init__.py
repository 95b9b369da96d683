"""Convolutions of 3x3 taps by Winograd's F(2x2, 3x3)."""
