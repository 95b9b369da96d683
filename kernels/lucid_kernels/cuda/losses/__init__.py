"""Losses together with their gradients.

`cross_entropy`: class indices.
`ctc_loss`: sequences whose alignment is not known.
"""
