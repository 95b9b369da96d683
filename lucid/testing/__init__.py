"""Helpers for tests, by the names of torch.testing. Not imported with lucid.

`comparison`: `assert_close` compares numbers, tensors and containers of them.
`creation`: `make_tensor` makes random ones.

>>> lucid.testing.assert_close(lucid.tensor([1.0, 2.0]) / 3, lucid.tensor([0.3333333, 0.6666667]))
"""
from .comparison import assert_allclose, assert_close
from .creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
