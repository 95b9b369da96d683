"""RNN, LSTM and GRU.

`recurrent`: the kernels; the loop over time for large batches is `lucid_kernels.recurrence`.
`sequence`: all steps in one call, for up to 48 sequences: the weight is packed once, and the threads share the units.
`cells`: the elementwise part of a step.
`microkernels`: the products of a step, in registers.

`gates` is what the inputs contribute, N rows, time after time, `batch_sizes` each. `kept` and what follows it is for the
gradient. `d_product` is None where it is `d_gates`; of it the caller makes the gradient of the weight, in one product for
all steps.
"""
from ..runtime import numba_import as numba_import
