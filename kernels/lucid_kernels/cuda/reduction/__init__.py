"""Reductions.

`softmax`: softmax, log-softmax and their gradients.
`reduce`: sums, means, products, extremes, truth, norms, variances, log-sum-exp, along any dimensions.
"""
