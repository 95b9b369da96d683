"""Sums, extremes and scans.

`reduction`: sums, means, products, `any`, `all`.
`max_min`: extremes and their positions.
`var_std`: variances, covariances, correlations.
`cumulative`: running sums, products and extremes.
`segments`: reductions of segments.
`trapezoid`: integrals.
`finite_differences`: `gradient`, `diff`.
`axes`, `selection`: what reductions share, and what `max`, `sort` and `topk` share.
"""
