"""Reductions.

`softmax`: softmax, log-softmax and their gradients.
`channel_sums`: the sums that are gradients of biases.
"""
