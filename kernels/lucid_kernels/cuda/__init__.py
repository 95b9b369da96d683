"""CUDA kernels and their launchers. Importing a module of this package imports cupy; the package itself does not.

`convolution`, `normalization`, `attention`, `recurrent`, `reduction`, `pooling`: the families, as in
`lucid_kernels.cpu`.
`elementwise`, `indexing`, `interpolation`, `losses`, `movement`, `random`: likewise.
`multi_tensor`: steps of optimizers with lists of tensors.
`optimizer`: SGD's and Adam's, as the CPU has them.
`unscale`: gradients of a scaled loss.
`matmul`: products by cuBLAS and cuBLASLt.
`runtime`: loading and launching.

Beside a module lies its source, the `.cu` file of its name. `math/` has headers only, and `tuning/` what was
measured of convolutions and attention on a chip.

All kernels have passed the first two tiers of `kernels/README.md`: they compile for sm_80, sm_90 and sm_100, and are right on the
simulator. Of the sources that are here now, the third tier is passed by `losses/ctc_loss.cu` and `recurrent/recurrent.cu`
alone: on 26 November 2026, on an H200 (driver 580.159, CuPy 14.2, CUDA 13.0). All others have been
written anew or changed since, and have not run on a GPU; nor have launch plans and cuBLASLt. What was measured that day
(`bench/results/2026-11-26-nvidia-h200-gpu.json`) is of other kernels, and of launches by CuPy. Tile sizes and thresholds are
reasoned. `bench/results/gpu_rows_not_run.md` has what is known without a GPU: launches, the host's time, resources.
"""
