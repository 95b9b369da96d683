"""RNN, LSTM and GRU.

`recurrent`: a product and the elementwise part of a step; `lucid_kernels.recurrence` has the loop over time. With a small
state a step is one launch: `recurrent_small.cu`.
"""
