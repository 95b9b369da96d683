"""Batch, layer, group and RMS normalisation.

`batch_norm`: (N, C, *).
`layer_norm`, `rms_norm`: rows.
`batch_norm_relu`: batch normalisation, a residual and ReLU in one pass.
`group_norm`: layer normalisation of the groups, then the parameters of the channels.
"""
