"""Random numbers, the same bits as on a CPU.

`random`: Philox4x32-10 by a counter, and the distributions.
"""
