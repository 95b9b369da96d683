"""Reductions and normalisations over the elements that a mask keeps, by the names of torch.masked. There is no MaskedTensor.

A `mask` of bools is broadcast to the tensor; None keeps all. What is left out counts as the value that changes nothing: 0 in a
sum, 1 in a product. Where nothing is kept the result is that value, or NaN for means and variances.

`reductions`: sums, extremes, means, norms.
`normalizations`: softmax and its kin, scans along a dimension.

>>> x = lucid.tensor([[1.0, 2.0, 6.0]])
>>> lucid.masked.mean(x, 1, mask=lucid.tensor([True, False, True]))
Tensor([3.5], requires_grad=False)
"""
from .normalizations import cumprod, cumsum, log_softmax, logaddexp, normalize, softmax, softmin
from .reductions import amax, amin, argmax, argmin, logsumexp, mean, median, norm, prod, std, sum, var

__all__ = ["amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
           "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var"]
