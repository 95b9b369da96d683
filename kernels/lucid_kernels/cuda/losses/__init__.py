"""Losses together with their gradients.

`cross_entropy`: class indices.
`nll_loss`: class indices, where the logarithms of probabilities are given.
`label_sums`: sums over labels, of both.
`ctc_loss`: sequences whose alignment is not known.
"""
