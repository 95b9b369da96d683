"""Losses.

`loss`: of classes, and other differences.
`likelihood_loss`: robust and likelihood losses of regression.
`margin_loss`: margins between scores, distances and angles.
`linear_cross_entropy`: of a linear layer's outputs.
`ctc_loss`: sequences whose alignment is not known.
"""
