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
measured of convolutions and attention on a chip: `sm_90.json` on an H100.

All kernels have passed the first two tiers of `kernels/README.md`: they compile for sm_80, sm_90 and sm_100, and are right on
the simulator. The third tier ran twice on 27 November 2026, on an H100 (driver 580.159, CuPy 14.2, NVRTC 13.0), with launch
plans and cuBLASLt, in memory full of NaN, against float64: all kernels at 15:28; at 17:12, with many written anew, 3,115 tests,
until its time was over. What it found wrong, attention of halves with masks of the least number, is corrected, and has passed
the first two tiers since; so have kernels that are new or changed since: those of `normalization/batch_norm.cu` and
`recurrent/`, and `max_pool2d_grad_windows`. Times beside PyTorch 2.11 are in
`bench/results/2026-11-27-1712-nvidia-h100-80gb-hbm3-batch.md`, and that of 15:28. Rows that no GPU has run are in
`bench/results/gpu_rows_not_run.md`, with launches, the host's time and resources. Where a comment names no measurement, tile
sizes and thresholds are reasoned.
sm_80 and sm_100 have passed the first tier alone.
"""
