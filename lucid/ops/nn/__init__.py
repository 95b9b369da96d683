"""The functions behind layers.

`activation`, `piecewise_activation`: activations.
`convolution`: convolution and transposed convolution.
`pooling`, `pooling_dimensions`: pooling of images; of sequences and volumes.
`fractional_pooling`, `unpooling`: fractional max pooling; max unpooling.
`fold`: windows of images as columns, and back.
`normalization`, `group_normalization`, `rms_norm`, `response_normalization`: normalisation.
`attention`, `multi_head_attention`: attention, and with its projections.
`recurrent`: RNN, LSTM and GRU.
`embedding`, `embedding_bag`: lookup tables.
`resampling`, `grid_sampling`: interpolation, and at any coordinates.
`loss`, `likelihood_loss`, `margin_loss`, `ctc_loss`: losses.
`batch_norm_relu`, `batch_norm_relu_max_pool2d`, `conv2d_relu_max_pool2d`: neighbouring layers as one operation.
`_convolution_arguments`: checks of the arguments of convolutions.
"""
