"""Batch, layer, group and RMS normalisation.

`batch_norm`: (N, C, *).
`batch_norm_relu`: batch normalisation, a residual and ReLU in one pass.
`layer_norm`, `rms_norm`: rows.
`group_norm`: the groups of channels of samples.
`row_norm`: what these three have in common.
"""
