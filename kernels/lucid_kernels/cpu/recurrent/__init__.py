"""RNN, LSTM and GRU: cells, and whole sequences."""
