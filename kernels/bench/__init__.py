"""Benchmarks of lucid's kernels and of the library on top of them: `python kernels/bench/run.py`.

Of kernels, beside PyTorch's and NumPy's:

`elementwise`, `softmax`, `cross_entropy`, `batch_norm`, `layer_norm`, `conv2d`, `pool2d`, `embedding`, `random`, `optimizer`,
`products`: a family each.

Of the whole library on a CPU:

`targets`: what it must reach.
`networks`: training steps of some twenty networks, and inference of single samples.
`convolution_shapes`: dimensions, strides, dilations, groups, transposed convolution.
`functions`: divisions, distances, Fourier transforms, small activations and losses.
`copies`, `scans`, `in_place`, `selection`: copies and joins; running sums; writes in place; elements by index, mask and order.
`small_matrices`: inverses, systems and products of many small matrices.
`recurrent`, `interpolation`: recurrent layers and `ctc_loss`; images resized or read at any coordinates.
`cold_start`, `import_time`, `module_call`, `module_to`: the first step of a process; imports; module calls and moves.
`host`: the host's time of GPU operations and steps, on a CUDA that computes nothing.
`memory`, `peak_memory`: leaks; the peak of a training step.

How it is measured:

`run`, `driver`, `worker`, `timing`: sides in processes of their own take turns.
`case`, `library`: what a family file describes, and one name for lucid and PyTorch.
`roofline`, `gpu_roofline`, `ceilings`: what the machine can do, and the floor of a case.
`environment`, `report`, `plot`, `compare`: what a result depends on; its tables, picture and comparison.
"""
