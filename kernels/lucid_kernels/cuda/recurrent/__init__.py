"""RNN, LSTM and GRU.

`recurrent`: a product and the elementwise part of a step; `lucid_kernels.recurrence` has the loop over time. An LSTM with a small
state takes a launch for each step: `lstm_small.cu`.
"""
