"""RNN, LSTM and GRU: cells, and whole sequences."""
from ..runtime import numba_import as numba_import
