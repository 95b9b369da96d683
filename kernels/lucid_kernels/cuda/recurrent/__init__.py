"""RNN, LSTM and GRU.

`recurrent`: the elementwise part of a step; `lucid_kernels.recurrence` has the loop over time.
"""
