"""The parts of `gpu_batch.py`, each in a process of its own, so that none can stop another.

`batch`: their order, shares of the time, and what is saved. `part`: runs one and keeps each row as it comes.
`place`: on a GPU, on the simulator, or with the real CuPy on a CUDA that computes nothing. `clock`: a GPU's own time.
`about`: the machine, and what is missing on it. `compilation`: all kernels, by all processors.
`suite`, `outcomes`: the project's tests, those of the kernels first, in memory full of NaN.
`ceilings_of_gpu`, `host_times`, `kernel_times`: what the GPU can do; the host's and the GPU's time of operations.
`tuning`, `problems`: measures the configurations of convolutions and attention, and writes the table.
`rows`: the targets and the training steps beside PyTorch. `compiled_steps`: steps of `lucid.compile`, beside PyTorch's graphs.
`roofline_rows`: what is known of them without a GPU.
`tables`: a result as text.
"""
