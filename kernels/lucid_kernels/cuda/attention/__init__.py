"""Scaled dot-product attention.

`attention`: forward and backward, with dropout too; the gradient computes the probabilities again. Its own kernels serve what the
next ones do not: float64, heads wider than 256, and chips older than sm_80.
`flash_attention`: on tensor cores.
`problem`: the arguments that both have.
"""
