"""CUDA kernels and their launchers. Importing a module of this package imports cupy; the package itself does not.

`convolution`, `normalization`, `attention`, `recurrent`, `reduction`, `pooling`: the families, as in
`lucid_kernels.cpu`.
`elementwise`, `indexing`, `interpolation`, `losses`, `movement`, `random`: likewise.
`multi_tensor`: steps of optimizers with lists of tensors.
`optimizer`: SGD's and Adam's, as the CPU has them.
`unscale`: gradients of a scaled loss.
`matmul`: products by cuBLAS.
`runtime`: loading and launching.

Beside a module lies its source, the `.cu` file of its name. `math/` has headers only, and `tuning/` what was
measured of convolutions on a chip, nothing so far.

All kernels but those of convolutions on tensor cores, and of `elementwise`, `movement`, `reduction.reduce` and `multi_tensor`,
which are newer, have passed the three tiers of `kernels/README.md`, the last on an H200 (driver 580.159, CuPy 14.2, CUDA 13.0),
where compute-sanitizer's memcheck and racecheck find nothing in their float32 tests (racecheck was not run to the end for
`attention`). They are not tuned: tile sizes and thresholds are reasoned. There (kernel times by CUPTI)

- a copy moves 4.1 TB/s; CuPy's elementwise kernels move half of that;
- a launch costs the host 13 us (6 in CuPy's launch, 3 for the memory of the result), with the operation around it 15;
  PyTorch's 8.5;
- convolutions without tensor cores compute 10 to 20 of the 49 TFLOP/s that cuBLAS reaches in float32; PyTorch's, in TF32 with
  hundreds of times the error, take a twelfth to a fourth of the time, and the input gradient of a 7x7 layer of 3 channels with
  stride 2 takes 34 times PyTorch's;
- attention, forward and backward, computes 8 to 10 TFLOP/s.
"""
