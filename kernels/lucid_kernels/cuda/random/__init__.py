"""Random numbers: Philox, the same bits as on a CPU."""
