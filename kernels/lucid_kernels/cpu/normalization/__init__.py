"""Batch, layer, group and RMS normalisation.

`batch_norm`: the kernels.
`implementations`: which loops normalise a batch.
`__main__`: `explain` on the command line.
`batch_norm_planes`: (N, C, S), some channels at a time.
`batch_norm_2d`: large (N, C).
`batch_norm_relu`: with a residual and ReLU in the same pass.
`channel_loops`, `channel_microkernels`: the loops over neighbouring channels.
`channel_parameters`: scale, shift and statistics of each channel as one argument.
`group_norm`: groups of channels.
`layer_norm`, `rms_norm`: rows.
`row_microkernels`: the loops over rows.

`mean` and `rstd` have the accumulation dtype of `x`, and the shape (C,) or `x.shape[:-normalized_ndim]`. Without `weight`
and `bias` their gradients are still the plain sums. `running_var` is unbiased; `out=(None, None, None, running_mean,
running_var)` updates the statistics in place.
"""
from ..runtime import numba_import as numba_import
