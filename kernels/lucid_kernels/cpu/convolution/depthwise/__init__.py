"""Convolutions of one channel with one filter each."""
