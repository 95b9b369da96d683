"""Convolution of images and volumes.

`conv2d`: forward, and the gradients of input, weight and bias; chooses between tensor cores and `conv2d.cu`.
`composed`: 3-d convolution, and convolution with ReLU, where tensor cores serve.
`tensor_cores`: the launcher of `conv_product.cu` (forward and input gradient), `conv_grad_weight.cu` and `conv_pack.cu`.
`configurations`: tiles and slices, from `tuning/` or by a model.

float32 is computed as TF32 unless `lucid.backends.cudnn.allow_tf32` is False, as in PyTorch; halves always by tensor cores. The
kernels for tensor cores have been compiled for sm_80, sm_90 and sm_100, none of them spills, and are right on the simulator, in
every tile. None has run on a GPU: the layouts of `mma.sync` and `ldmatrix` follow the PTX ISA, and nothing is known of the
times.
By the model of `configurations`, an estimate, the largest tile is bound by `mma.sync`, at 0.63 of the dense TF32 rate of an
H100.
"""
