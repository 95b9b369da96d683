"""The functions behind layers.

`activation`, `piecewise_activation`: activations.
`convolution`: convolution and transposed convolution.
`pooling`, `pooling_dimensions`: pooling of images; of sequences and volumes.
`fractional_pooling`, `unpooling`: fractional max pooling; max unpooling.
`fold`: windows of images as columns, and back.
`normalization`, `group_normalization`, `rms_norm`: normalisation.
`attention`, `multi_head_attention`: attention, and with its projections.
`recurrent`: RNN, LSTM and GRU.
`embedding`, `embedding_bag`: lookup tables, one-hot vectors.
`resampling`, `grid_sampling`: interpolation, and at any coordinates.
`pixel_shuffle`: channels as pixels, and channels shuffled.
`losses`: losses.
`native`: these functions as PyTorch's own namespace has them.
`native_results`, `pooling_with_indices`: those that return what their gradients need, or where maxima stand.
`batch_norm_relu`: batch normalisation and ReLU as one operation.
`linear_activation`: a linear layer and its activation as one operation.
`_convolution_arguments`: checks of the arguments of convolutions.
"""
