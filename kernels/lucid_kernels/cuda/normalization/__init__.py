"""Batch, layer, group and RMS normalisation."""
