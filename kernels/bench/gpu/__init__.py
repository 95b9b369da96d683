"""The parts of `gpu_batch.py`, each in a process of its own.

`part`: runs one and keeps what it has found so far; `place`: on a GPU, on the simulator, or on a CUDA that computes nothing.
"""
