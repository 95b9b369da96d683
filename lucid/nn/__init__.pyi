"""The names of lucid.nn, for checkers of types. Written by `python -m tests.typing.stubs`: do not edit."""
import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, overload

import numpy as np

from lucid.einops.layers import Rearrange as Rearrange
from lucid.nn import attention as attention
from lucid.nn import common_types as common_types
from lucid.nn import functional as functional
from lucid.nn import init as init
from lucid.nn import modules as modules
from lucid.nn import parallel as parallel
from lucid.nn import parameter as parameter
from lucid.nn import utils as utils
from lucid.nn.extras.activation import HardSigmoid as HardSigmoid
from lucid.nn.extras.activation import HardSwish as HardSwish
from lucid.nn.extras.activation import Swish as Swish
from lucid.nn.extras.attention import MultiHeadAttention as MultiHeadAttention
from lucid.nn.extras.attention import ScaledDotProductAttention as ScaledDotProductAttention
from lucid.nn.extras.blocks import ConvBNReLU1d as ConvBNReLU1d
from lucid.nn.extras.blocks import ConvBNReLU2d as ConvBNReLU2d
from lucid.nn.extras.blocks import ConvBNReLU3d as ConvBNReLU3d
from lucid.nn.extras.blocks import DepthSeparableConv1d as DepthSeparableConv1d
from lucid.nn.extras.blocks import DepthSeparableConv2d as DepthSeparableConv2d
from lucid.nn.extras.blocks import DepthSeparableConv3d as DepthSeparableConv3d
from lucid.nn.extras.blocks import SEModule as SEModule
from lucid.nn.extras.blocks import SelectiveKernel as SelectiveKernel
from lucid.nn.extras.cache import Cache as Cache
from lucid.nn.extras.cache import DynamicKVCache as DynamicKVCache
from lucid.nn.extras.cache import EncoderDecoderCache as EncoderDecoderCache
from lucid.nn.extras.cache import KVCache as KVCache
from lucid.nn.extras.cache import StaticKVCache as StaticKVCache
from lucid.nn.extras.helpers import auto_repr as auto_repr
from lucid.nn.extras.helpers import set_state_dict_pass_attr as set_state_dict_pass_attr
from lucid.nn.extras.positions import LearnedPosEmbedding as LearnedPosEmbedding
from lucid.nn.extras.positions import RotaryPosEmbedding as RotaryPosEmbedding
from lucid.nn.extras.positions import SinusoidalPosEmbedding as SinusoidalPosEmbedding
from lucid.nn.extras.regularization import DropBlock as DropBlock
from lucid.nn.extras.regularization import DropPath as DropPath
from lucid.nn.extras.regularization import GlobalResponseNorm as GlobalResponseNorm
from lucid.nn.modules.activation import CELU as CELU
from lucid.nn.modules.activation import ELU as ELU
from lucid.nn.modules.activation import GELU as GELU
from lucid.nn.modules.activation import GLU as GLU
from lucid.nn.modules.activation import Hardshrink as Hardshrink
from lucid.nn.modules.activation import Hardsigmoid as Hardsigmoid
from lucid.nn.modules.activation import Hardswish as Hardswish
from lucid.nn.modules.activation import Hardtanh as Hardtanh
from lucid.nn.modules.activation import LeakyReLU as LeakyReLU
from lucid.nn.modules.activation import LogSigmoid as LogSigmoid
from lucid.nn.modules.activation import LogSoftmax as LogSoftmax
from lucid.nn.modules.activation import Mish as Mish
from lucid.nn.modules.activation import PReLU as PReLU
from lucid.nn.modules.activation import RReLU as RReLU
from lucid.nn.modules.activation import ReLU as ReLU
from lucid.nn.modules.activation import ReLU6 as ReLU6
from lucid.nn.modules.activation import SELU as SELU
from lucid.nn.modules.activation import SiLU as SiLU
from lucid.nn.modules.activation import Sigmoid as Sigmoid
from lucid.nn.modules.activation import Softmax as Softmax
from lucid.nn.modules.activation import Softmax2d as Softmax2d
from lucid.nn.modules.activation import Softmin as Softmin
from lucid.nn.modules.activation import Softplus as Softplus
from lucid.nn.modules.activation import Softshrink as Softshrink
from lucid.nn.modules.activation import Softsign as Softsign
from lucid.nn.modules.activation import Tanh as Tanh
from lucid.nn.modules.activation import Tanhshrink as Tanhshrink
from lucid.nn.modules.activation import Threshold as Threshold
from lucid.nn.modules.adaptive import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from lucid.nn.modules.attention import MultiheadAttention as MultiheadAttention
from lucid.nn.modules.batchnorm import BatchNorm1d as BatchNorm1d
from lucid.nn.modules.batchnorm import BatchNorm2d as BatchNorm2d
from lucid.nn.modules.batchnorm import BatchNorm3d as BatchNorm3d
from lucid.nn.modules.batchnorm import BatchNormReLU2d as BatchNormReLU2d
from lucid.nn.modules.batchnorm import SyncBatchNorm as SyncBatchNorm
from lucid.nn.modules.buffer_containers import BufferDict as BufferDict
from lucid.nn.modules.buffer_containers import BufferList as BufferList
from lucid.nn.modules.container import Container as Container
from lucid.nn.modules.container import ModuleDict as ModuleDict
from lucid.nn.modules.container import ModuleList as ModuleList
from lucid.nn.modules.container import ParameterDict as ParameterDict
from lucid.nn.modules.container import ParameterList as ParameterList
from lucid.nn.modules.container import Sequential as Sequential
from lucid.nn.modules.conv import Conv1d as Conv1d
from lucid.nn.modules.conv import Conv2d as Conv2d
from lucid.nn.modules.conv import Conv3d as Conv3d
from lucid.nn.modules.conv import ConvTranspose1d as ConvTranspose1d
from lucid.nn.modules.conv import ConvTranspose2d as ConvTranspose2d
from lucid.nn.modules.conv import ConvTranspose3d as ConvTranspose3d
from lucid.nn.modules.distance import CosineSimilarity as CosineSimilarity
from lucid.nn.modules.distance import PairwiseDistance as PairwiseDistance
from lucid.nn.modules.dropout import AlphaDropout as AlphaDropout
from lucid.nn.modules.dropout import Dropout as Dropout
from lucid.nn.modules.dropout import Dropout1d as Dropout1d
from lucid.nn.modules.dropout import Dropout2d as Dropout2d
from lucid.nn.modules.dropout import Dropout3d as Dropout3d
from lucid.nn.modules.dropout import FeatureAlphaDropout as FeatureAlphaDropout
from lucid.nn.modules.flatten import Flatten as Flatten
from lucid.nn.modules.flatten import Unflatten as Unflatten
from lucid.nn.modules.fold import Fold as Fold
from lucid.nn.modules.fold import Unfold as Unfold
from lucid.nn.modules.instancenorm import InstanceNorm1d as InstanceNorm1d
from lucid.nn.modules.instancenorm import InstanceNorm2d as InstanceNorm2d
from lucid.nn.modules.instancenorm import InstanceNorm3d as InstanceNorm3d
from lucid.nn.modules.lazy_layers import LazyBatchNorm1d as LazyBatchNorm1d
from lucid.nn.modules.lazy_layers import LazyBatchNorm2d as LazyBatchNorm2d
from lucid.nn.modules.lazy_layers import LazyBatchNorm3d as LazyBatchNorm3d
from lucid.nn.modules.lazy_layers import LazyConv1d as LazyConv1d
from lucid.nn.modules.lazy_layers import LazyConv2d as LazyConv2d
from lucid.nn.modules.lazy_layers import LazyConv3d as LazyConv3d
from lucid.nn.modules.lazy_layers import LazyConvTranspose1d as LazyConvTranspose1d
from lucid.nn.modules.lazy_layers import LazyConvTranspose2d as LazyConvTranspose2d
from lucid.nn.modules.lazy_layers import LazyConvTranspose3d as LazyConvTranspose3d
from lucid.nn.modules.lazy_layers import LazyInstanceNorm1d as LazyInstanceNorm1d
from lucid.nn.modules.lazy_layers import LazyInstanceNorm2d as LazyInstanceNorm2d
from lucid.nn.modules.lazy_layers import LazyInstanceNorm3d as LazyInstanceNorm3d
from lucid.nn.modules.lazy_layers import LazyLinear as LazyLinear
from lucid.nn.modules.linear import Bilinear as Bilinear
from lucid.nn.modules.linear import Identity as Identity
from lucid.nn.modules.linear import Linear as Linear
from lucid.nn.modules.loss import BCELoss as BCELoss
from lucid.nn.modules.loss import BCEWithLogitsLoss as BCEWithLogitsLoss
from lucid.nn.modules.loss import CTCLoss as CTCLoss
from lucid.nn.modules.loss import CosineEmbeddingLoss as CosineEmbeddingLoss
from lucid.nn.modules.loss import CrossEntropyLoss as CrossEntropyLoss
from lucid.nn.modules.loss import GaussianNLLLoss as GaussianNLLLoss
from lucid.nn.modules.loss import HingeEmbeddingLoss as HingeEmbeddingLoss
from lucid.nn.modules.loss import HuberLoss as HuberLoss
from lucid.nn.modules.loss import KLDivLoss as KLDivLoss
from lucid.nn.modules.loss import L1Loss as L1Loss
from lucid.nn.modules.loss import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from lucid.nn.modules.loss import MSELoss as MSELoss
from lucid.nn.modules.loss import MarginRankingLoss as MarginRankingLoss
from lucid.nn.modules.loss import MultiLabelMarginLoss as MultiLabelMarginLoss
from lucid.nn.modules.loss import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from lucid.nn.modules.loss import MultiMarginLoss as MultiMarginLoss
from lucid.nn.modules.loss import NLLLoss as NLLLoss
from lucid.nn.modules.loss import NLLLoss2d as NLLLoss2d
from lucid.nn.modules.loss import PoissonNLLLoss as PoissonNLLLoss
from lucid.nn.modules.loss import SmoothL1Loss as SmoothL1Loss
from lucid.nn.modules.loss import SoftMarginLoss as SoftMarginLoss
from lucid.nn.modules.loss import TripletMarginLoss as TripletMarginLoss
from lucid.nn.modules.loss import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
from lucid.nn.modules.module import Module as Module
from lucid.nn.modules.normalization import CrossMapLRN2d as CrossMapLRN2d
from lucid.nn.modules.normalization import GroupNorm as GroupNorm
from lucid.nn.modules.normalization import LayerNorm as LayerNorm
from lucid.nn.modules.normalization import LocalResponseNorm as LocalResponseNorm
from lucid.nn.modules.normalization import RMSNorm as RMSNorm
from lucid.nn.modules.padding import CircularPad1d as CircularPad1d
from lucid.nn.modules.padding import CircularPad2d as CircularPad2d
from lucid.nn.modules.padding import CircularPad3d as CircularPad3d
from lucid.nn.modules.padding import ConstantPad1d as ConstantPad1d
from lucid.nn.modules.padding import ConstantPad2d as ConstantPad2d
from lucid.nn.modules.padding import ConstantPad3d as ConstantPad3d
from lucid.nn.modules.padding import ReflectionPad1d as ReflectionPad1d
from lucid.nn.modules.padding import ReflectionPad2d as ReflectionPad2d
from lucid.nn.modules.padding import ReflectionPad3d as ReflectionPad3d
from lucid.nn.modules.padding import ReplicationPad1d as ReplicationPad1d
from lucid.nn.modules.padding import ReplicationPad2d as ReplicationPad2d
from lucid.nn.modules.padding import ReplicationPad3d as ReplicationPad3d
from lucid.nn.modules.padding import ZeroPad1d as ZeroPad1d
from lucid.nn.modules.padding import ZeroPad2d as ZeroPad2d
from lucid.nn.modules.padding import ZeroPad3d as ZeroPad3d
from lucid.nn.modules.pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from lucid.nn.modules.pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from lucid.nn.modules.pooling import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from lucid.nn.modules.pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from lucid.nn.modules.pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from lucid.nn.modules.pooling import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from lucid.nn.modules.pooling import AvgPool1d as AvgPool1d
from lucid.nn.modules.pooling import AvgPool2d as AvgPool2d
from lucid.nn.modules.pooling import AvgPool3d as AvgPool3d
from lucid.nn.modules.pooling import FractionalMaxPool2d as FractionalMaxPool2d
from lucid.nn.modules.pooling import FractionalMaxPool3d as FractionalMaxPool3d
from lucid.nn.modules.pooling import LPPool1d as LPPool1d
from lucid.nn.modules.pooling import LPPool2d as LPPool2d
from lucid.nn.modules.pooling import LPPool3d as LPPool3d
from lucid.nn.modules.pooling import MaxPool1d as MaxPool1d
from lucid.nn.modules.pooling import MaxPool2d as MaxPool2d
from lucid.nn.modules.pooling import MaxPool3d as MaxPool3d
from lucid.nn.modules.pooling import MaxUnpool1d as MaxUnpool1d
from lucid.nn.modules.pooling import MaxUnpool2d as MaxUnpool2d
from lucid.nn.modules.pooling import MaxUnpool3d as MaxUnpool3d
from lucid.nn.modules.rnn import GRU as GRU
from lucid.nn.modules.rnn import GRUCell as GRUCell
from lucid.nn.modules.rnn import LSTM as LSTM
from lucid.nn.modules.rnn import LSTMCell as LSTMCell
from lucid.nn.modules.rnn import RNN as RNN
from lucid.nn.modules.rnn import RNNBase as RNNBase
from lucid.nn.modules.rnn import RNNCell as RNNCell
from lucid.nn.modules.rnn import RNNCellBase as RNNCellBase
from lucid.nn.modules.sparse import Embedding as Embedding
from lucid.nn.modules.sparse import EmbeddingBag as EmbeddingBag
from lucid.nn.modules.transformer import Transformer as Transformer
from lucid.nn.modules.transformer import TransformerDecoder as TransformerDecoder
from lucid.nn.modules.transformer import TransformerDecoderLayer as TransformerDecoderLayer
from lucid.nn.modules.transformer import TransformerEncoder as TransformerEncoder
from lucid.nn.modules.transformer import TransformerEncoderLayer as TransformerEncoderLayer
from lucid.nn.modules.upsampling import ChannelShuffle as ChannelShuffle
from lucid.nn.modules.upsampling import PixelShuffle as PixelShuffle
from lucid.nn.modules.upsampling import PixelUnshuffle as PixelUnshuffle
from lucid.nn.modules.upsampling import Upsample as Upsample
from lucid.nn.modules.upsampling import UpsamplingBilinear2d as UpsamplingBilinear2d
from lucid.nn.modules.upsampling import UpsamplingNearest2d as UpsamplingNearest2d
from lucid.nn.modules.utils import factory_kwargs as factory_kwargs
from lucid.nn.parallel import DataParallel as DataParallel
from lucid.nn.parameter import Buffer as Buffer
from lucid.nn.parameter import Parameter as Parameter
from lucid.nn.parameter import UninitializedBuffer as UninitializedBuffer
from lucid.nn.parameter import UninitializedParameter as UninitializedParameter
from lucid.ops.nn.losses.linear_cross_entropy import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from lucid.tensor import Tensor


__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveLogSoftmaxWithLoss", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AlphaDropout", "AvgPool1d", "AvgPool2d", "AvgPool3d", "BCELoss",
    "BCEWithLogitsLoss", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "BatchNormReLU2d", "Bilinear", "Buffer", "BufferDict",
    "BufferList", "CELU", "CTCLoss", "Cache", "ChannelShuffle", "CircularPad1d", "CircularPad2d", "CircularPad3d",
    "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "Container", "Conv1d", "Conv2d", "Conv3d", "ConvBNReLU1d",
    "ConvBNReLU2d", "ConvBNReLU3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "CosineEmbeddingLoss",
    "CosineSimilarity", "CrossEntropyLoss", "CrossMapLRN2d", "DataParallel", "DepthSeparableConv1d", "DepthSeparableConv2d",
    "DepthSeparableConv3d", "DropBlock", "DropPath", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "DynamicKVCache", "ELU",
    "Embedding", "EmbeddingBag", "EncoderDecoderCache", "FeatureAlphaDropout", "Flatten", "Fold", "FractionalMaxPool2d",
    "FractionalMaxPool3d", "GELU", "GLU", "GRU", "GRUCell", "GaussianNLLLoss", "GlobalResponseNorm", "GroupNorm", "HardSigmoid",
    "HardSwish", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "HingeEmbeddingLoss", "HuberLoss", "Identity",
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "KLDivLoss", "KVCache", "L1Loss", "LPPool1d", "LPPool2d", "LPPool3d",
    "LSTM", "LSTMCell", "LayerNorm", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d",
    "LazyConv3d", "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d",
    "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear", "LeakyReLU", "LearnedPosEmbedding", "Linear",
    "LinearCrossEntropyLoss", "LinearCrossEntropyOptions", "LocalResponseNorm", "LogSigmoid", "LogSoftmax", "MSELoss",
    "MarginRankingLoss", "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "Mish", "Module",
    "ModuleDict", "ModuleList", "MultiHeadAttention", "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss",
    "MultiheadAttention", "NLLLoss", "NLLLoss2d", "PReLU", "PairwiseDistance", "Parameter", "ParameterDict", "ParameterList",
    "PixelShuffle", "PixelUnshuffle", "PoissonNLLLoss", "RMSNorm", "RNN", "RNNBase", "RNNCell", "RNNCellBase", "RReLU", "ReLU",
    "ReLU6", "Rearrange", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "RotaryPosEmbedding", "SELU", "SEModule", "ScaledDotProductAttention", "SelectiveKernel", "Sequential",
    "SiLU", "Sigmoid", "SinusoidalPosEmbedding", "SmoothL1Loss", "SoftMarginLoss", "Softmax", "Softmax2d", "Softmin",
    "Softplus", "Softshrink", "Softsign", "StaticKVCache", "Swish", "SyncBatchNorm", "Tanh", "Tanhshrink", "Threshold",
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer",
    "TripletMarginLoss", "TripletMarginWithDistanceLoss", "Unflatten", "Unfold", "UninitializedBuffer",
    "UninitializedParameter", "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
    "attention", "auto_repr", "common_types", "factory_kwargs", "functional", "init", "modules", "parallel", "parameter",
    "set_state_dict_pass_attr", "utils"
]
