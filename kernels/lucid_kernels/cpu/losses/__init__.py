"""Losses together with their gradients.

`cross_entropy`: class indices, from logits, without an array of log-softmax.
`ctc_loss`: sequences whose alignment is not known.

`grad` is d(loss)/dx for an upstream gradient of 1 for each element of the loss, or None without `with_grad`. That of a row
that is ignored is 0, or NaN where its logits have no probabilities. `ctc_loss` gives the gradient of the logits of which a
log-softmax made `x`; states are added up in float64, and the loss is inf, or 0 with `zero_infinity`, where no alignment is
possible.
"""
from ..runtime import numba_import as numba_import
