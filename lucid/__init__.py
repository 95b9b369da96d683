"""lucid: a deep-learning array library in plain Python, with PyTorch's names and behaviour.

On a CPU it runs on NumPy and Numba kernels, on a CUDA machine on CuPy and our own CUDA kernels. Importing it imports neither
numba nor cupy: they come with the first operation that needs them.
"""
from . import _dtypes, autograd, gpu, ops
from ._dtypes import (
    bfloat16,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    get_default_dtype,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
)
from ._dtypes import bool_ as bool  # noqa: A004
from ._random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from .autograd import enable_grad, inference_mode, no_grad, set_grad_enabled
from .autograd.grad_mode import is_grad_enabled, is_inference_mode_enabled
from .backends import Device as device
from .backends import set_default_device
from .backends import default_device as get_default_device
from .tensor import Size, Tensor

__version__ = "0.1.0"

cuda = gpu
half, float, double = float16, float32, float64  # noqa: A001
short, int, long = int16, int32, int64  # noqa: A001
cfloat, cdouble = complex64, complex128

# Every public function of lucid.ops is a function of lucid.
for _family in ops.FAMILIES:
    for _name in getattr(_family, "__all__", None) or dir(_family):
        _value = getattr(_family, _name)
        if not _name.startswith("_") and callable(_value) and getattr(_value, "__module__", None) == _family.__name__:
            globals().setdefault(_name, _value)
del _family, _name, _value

tensor = ops.creation.tensor  # the function, not the submodule of that name
