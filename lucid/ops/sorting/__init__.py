"""Sorting, searching, statistics, histograms."""
