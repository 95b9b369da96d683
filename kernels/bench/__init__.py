"""Benchmarks of lucid's kernels and of the library on top of them: `python kernels/bench/run.py`."""
