"""Sums, extremes, scans."""
