"""Convolution of images and volumes.

`conv2d`: forward, and the gradients of input, weight and bias; chooses among the following and `conv2d.cu`.
`depthwise`: one channel a group; bound by memory.
`few_channels`: the input gradient of strided convolutions of images with one channel or three.
`composed`: 3-d convolution, and convolution with ReLU and a residual, where tensor cores serve.
`tensor_cores`: the launcher of `conv_product.cu` (forward and input gradient), `conv_grad_weight.cu` and `conv_pack.cu`.
`pointwise`: kernels of one element, by cuBLAS.
`layout`, `slices`: channels last; sums over slices of the batch (split-K).
`problem`: a convolution as a product of matrices, for which tile and slices are chosen.
`configurations`: tiles and slices, from `tuning/` or by a model.
`tuner`: measures configurations and writes `tuning/`.
`__main__`: `python -m lucid_kernels.cuda.convolution explain 8x64x56x56 3x3` says what is chosen, and by which rule.

float32 is computed as TF32 unless `lucid.backends.cudnn.allow_tf32` is False, as in PyTorch; halves always by tensor cores.
Exact float32 is three products of TF32 for each where the model finds that faster than `conv2d.cu`, on the simulator with its
errors. The kernels for tensor cores are compiled for sm_80, sm_90 and sm_100, none of them spills, and are right on the
simulator, in every tile.

On an H100 (27 November 2026) all tiles gave what PyTorch gives in float64, by mma.sync and by wgmma. 3x3 convolutions reached
130 to 180 TFLOP/s of TF32 and 230 to 400 of bfloat16; their weight gradients 80 to 90, and 210. Their tiles are bound by the
level 2 cache, by a model that fits these times. Bringing float32 images into the order of the kernels took 5 to 19 us, a copy at
the speed of memory. Since then a block divides less before its sums, and weight gradients copy with less arithmetic: that has run
on the simulator only.
"""
