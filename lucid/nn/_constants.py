"""`__constants__` of the layers: the names of their attributes that a compiler of PyTorch's takes as constants. Libraries read
and extend them.
"""
from __future__ import annotations

from typing import Any

#: The names of attributes: the classes that have these. Derived classes have those of their base.
_CLASSES = {
    "output_size": "AdaptiveAvgPool1d", "output_size return_indices": "AdaptiveMaxPool1d",
    "kernel_size stride padding ceil_mode count_include_pad": "AvgPool1d",
    "kernel_size stride padding ceil_mode count_include_pad divisor_override": "AvgPool2d AvgPool3d",
    "track_running_stats momentum eps num_features affine": "BatchNorm1d InstanceNorm1d",
    "reduction": "BCELoss KLDivLoss L1Loss MSELoss MultiLabelMarginLoss MultiLabelSoftMarginLoss SmoothL1Loss SoftMarginLoss",
    "in1_features in2_features out_features": "Bilinear", "alpha inplace": "CELU ELU", "blank reduction": "CTCLoss",
    "groups": "ChannelShuffle", "padding value": "ConstantPad1d", "margin reduction":
    "CosineEmbeddingLoss HingeEmbeddingLoss MarginRankingLoss", "dim eps": "CosineSimilarity",
    "ignore_index reduction label_smoothing": "CrossEntropyLoss",
    "stride padding dilation groups padding_mode output_padding in_channels out_channels kernel_size": "Conv1d",
    "num_embeddings embedding_dim padding_idx max_norm norm_type scale_grad_by_freq sparse": "Embedding",
    "num_embeddings embedding_dim max_norm norm_type scale_grad_by_freq mode sparse include_last_offset padding_idx":
    "EmbeddingBag", "p inplace": "Dropout AlphaDropout FeatureAlphaDropout Dropout1d Dropout2d Dropout3d",
    "start_dim end_dim": "Flatten", "output_size kernel_size dilation padding stride": "Fold",
    "kernel_size return_indices output_size output_ratio": "FractionalMaxPool2d FractionalMaxPool3d", "approximate": "GELU",
    "dim": "GLU LogSoftmax Softmax Softmin", "full eps reduction": "GaussianNLLLoss", "num_groups num_channels eps affine":
    "GroupNorm", "lambd": "Hardshrink Softshrink", "inplace": "Hardsigmoid Hardswish Mish ReLU SELU SiLU",
    "min_val max_val inplace": "Hardtanh", "reduction delta": "HuberLoss",
    "normalized_shape eps elementwise_affine": "LayerNorm RMSNorm", "inplace negative_slope": "LeakyReLU",
    "in_features out_features": "Linear", "num_classes out_features reduction ignore_index label_smoothing":
    "LinearCrossEntropyLoss", "norm_type kernel_size stride ceil_mode": "LPPool1d", "size alpha beta k": "LocalResponseNorm",
    "kernel_size stride padding dilation return_indices ceil_mode": "MaxPool1d", "p margin reduction": "MultiMarginLoss",
    "batch_first": "MultiheadAttention", "ignore_index reduction": "NLLLoss", "num_parameters": "PReLU",
    "norm eps keepdim": "PairwiseDistance", "upscale_factor": "PixelShuffle", "downscale_factor": "PixelUnshuffle",
    "log_input full eps reduction": "PoissonNLLLoss",
    "mode input_size hidden_size num_layers bias batch_first dropout bidirectional proj_size": "RNNBase",
    "input_size hidden_size bias": "RNNCellBase", "input_size hidden_size bias nonlinearity": "RNNCell",
    "lower upper inplace": "RReLU", "beta threshold": "Softplus", "threshold value inplace": "Threshold",
    "norm": "TransformerDecoder TransformerEncoder", "norm_first": "TransformerDecoderLayer TransformerEncoderLayer",
    "margin p eps swap reduction": "TripletMarginLoss", "margin swap reduction": "TripletMarginWithDistanceLoss",
    "dim unflattened_size": "Unflatten", "kernel_size dilation padding stride": "Unfold",
    "size scale_factor mode align_corners name recompute_scale_factor": "Upsample",
    "padding": "CircularPad1d ReflectionPad1d ReplicationPad1d",
}
#: Of these the base that all dimensions share has the attribute.
_SHARED = {"AdaptiveAvgPool1d": "_AdaptiveAvgPoolNd", "AdaptiveMaxPool1d": "_AdaptiveMaxPoolNd", "BatchNorm1d": "_NormBase",
           "InstanceNorm1d": "_InstanceNorm", "ConstantPad1d": "_ConstantPadNd", "Conv1d": "_ConvNd", "LPPool1d": "_LPPoolNd",
           "MaxPool1d": "_MaxPoolNd", "CircularPad1d": "_CircularPadNd", "ReflectionPad1d": "_ReflectionPadNd",
           "ReplicationPad1d": "_ReplicationPadNd"}


def install(modules: dict[str, Any]) -> None:
    """Give the classes of a namespace their `__constants__`."""
    for attributes, classes in _CLASSES.items():
        for name in classes.split():
            cls = modules[name]
            if name in _SHARED:
                cls = next(base for base in cls.__mro__ if base.__name__ == _SHARED[name])
            cls.__constants__ = attributes.split()
