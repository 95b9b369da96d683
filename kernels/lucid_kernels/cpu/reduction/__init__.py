"""Sums, extremes, scans and softmax over dimensions.

`reduction`: sums, means, variances and log-sum-exps.
`fused_totals`: sums of results of formulas, which are not written to memory.
`strided_sum`: sums of rows with gaps between them.
`max_min`: largest and smallest elements, and their positions.
`cumsum`: running sums and products.
`cummax`: running extremes.
`softmax`, `softmax_microkernels`: softmax, log-softmax and their gradients.
"""
from ..runtime import numba_import as numba_import
