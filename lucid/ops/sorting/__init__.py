"""Sorting, searching and counting.

`sorting`: `sort`, `argsort`, `topk`.
`search`: `searchsorted`, `isin` and others.
`statistics`: medians, quantiles, modes.
`histogram`: histograms, `bincount`.
`unique`: distinct elements.
"""
