"""Benchmarks of lucid's kernels and of the library on top of them: `python kernels/bench/run.py`.

What is measured:

`cases`: kernels, beside PyTorch's and NumPy's, a file for each family.
`targets`: what the whole library must reach on a CPU.
`gpu_targets`, `gpu`, `gpu_batch`: what it must reach on a GPU, and one command that measures all there is to measure on one.
`gpu_rows`: what is known of the rows on a GPU without one.
`networks`: training steps of some twenty networks, and inference of single samples.
`cold_start`, `import_time`, `module_call`, `module_to`: the first step of a process; imports; module calls and moves.
`small_call`: the parts of an operation on a few numbers.
`host`: the host's time of GPU operations and steps, on a CUDA that computes nothing.
`memory`, `peak_memory`: leaks; the peak of a training step.

How it is measured:

`run`, `driver`, `worker`: sides in processes of their own take turns; `lucid_kernels.measuring` times them.
`case`, `library`: what a family file describes, and one name for lucid and PyTorch.
`environment`, `report`, `plot`, `compare`: what a result depends on; its tables, picture and comparison.
"""
