"""Sums, extremes, scans and softmax."""
