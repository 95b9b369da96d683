"""Sums, extremes and scans.

`reduction`: sums, means, products, `any`, `all`.
`max_min`: extremes and their positions.
`extremes`: those on a GPU whose gradients are shared by ties.
`var_std`: variances, covariances, correlations.
`cumulative`: running sums, products and extremes.
`segments`: reductions of segments.
`trapezoid`: integrals.
`hashing`: the bits of all elements as one number.
`finite_differences`: `gradient`, `diff`.
`axes`, `selection`: what reductions share, and what `max`, `sort` and `topk` share.
"""
