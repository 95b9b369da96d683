"""Maps between constraints, with inverses and the determinants of their Jacobians.

`base`: what a transform is, inverses, and transforms made of others.
`elementwise`: transforms of numbers.
`shapes`: reshaping, and transforms of parts.
`simplex`: vectors of probabilities.
`matrices`: Cholesky factors, correlations, positive definite matrices.
`cumulative`: distribution functions.

>>> from lucid.distributions.transforms import AffineTransform
>>> double = AffineTransform(0.0, 2.0)
>>> double(lucid.tensor(3.0)), double.inv(lucid.tensor(6.0))
(Tensor(6.0, requires_grad=False), Tensor(3.0, requires_grad=False))
"""
from .base import ComposeTransform, IndependentTransform, Transform, identity_transform
from .cumulative import CumulativeDistributionTransform
from .elementwise import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from .matrices import CorrCholeskyTransform, LowerCholeskyTransform, PositiveDefiniteTransform
from .shapes import CatTransform, ReshapeTransform, StackTransform
from .simplex import SoftmaxTransform, StickBreakingTransform

__all__ = ["AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
           "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
           "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
           "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform"]
