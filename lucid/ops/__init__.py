"""Operations by families, as methods of Tensor too (`_methods`).

The kernel name, the gradient rule and the public function of an operation stand together. Begin with `elementwise.unary`, which
has the shortest rules.

`creation`: new tensors.
`conversion`: copies, and other dtypes and devices.
`properties`: what a tensor is.
`elementwise`: element by element.
`fusion`: a function of elementwise operations as one.
`manipulation`: shapes, joining and splitting.
`indexing`: by index or mask.
`reduction`: sums, extremes and scans.
`sorting`: sorting, searching and counting.
`random`: random numbers.
`linalg`, `fft`: linear algebra; Fourier transforms.
`nn`: the functions behind layers.
`sparse`, `sparse_methods`: sparse tensors; their methods, which import the others with the first call.
`foreach`: an operation for each tensor of a list.
`in_place`: `exp_` and others as functions.
`python_functions`: Python functions called for every element.
`_methods`: how functions become methods of Tensor.
`_operands`, `_out`: promotion, scalars and broadcasting; the keyword `out`.
`_independence`, `_second_order`: gradients of zeros; what only gradients of gradients need.
"""
from . import python_functions, sparse_methods  # families without a function in `lucid` itself
from .manipulation import layouts
from .random import random_fill
