"""The host's time of GPU operations and training steps, without a GPU: `python kernels/bench/run.py host`.

The real CuPy runs on a CUDA that computes nothing, so what a call takes is what Python, CuPy and lucid take for it. That bounds
every operation whose kernels are shorter. The numbers say nothing of kernels, of the driver, or of a GPU.

`stub`, `cuda.c`: that CUDA, built with gcc when it is needed.
`cases`: operations, training steps and replays of compiled functions.
`report`: measures them in a process of their own, and the table.
"""
