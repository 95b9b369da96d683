"""RNN, LSTM and GRU."""
