"""Modules and parametrizations for the tests of nn.utils.parametrize, of either library."""
from __future__ import annotations


def symmetric(torch, right_inverse=True):
    class Symmetric(torch.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

    if right_inverse:
        Symmetric.right_inverse = lambda self, a: a.triu()
    return Symmetric()


def product(torch):
    """A matrix as the product of a column and a row."""
    class Product(torch.nn.Module):
        def forward(self, x, y):
            return x.unsqueeze(-1) * y.unsqueeze(-2)

        def right_inverse(self, z):
            return z[:, 0].clone(), z[0].clone()

    return Product()


def from_functions(torch, forward, right_inverse=None):
    """A parametrization of two functions."""
    class Given(torch.nn.Module):
        def forward(self, *originals):
            return forward(*originals)

    if right_inverse is not None:
        Given.right_inverse = lambda self, x: right_inverse(x)
    return Given()


def square(torch, n=3):
    layer = torch.nn.Linear(n, n)
    with torch.no_grad():
        layer.weight.copy_(torch.arange(float(n * n)).reshape(n, n))
        layer.bias.copy_(torch.arange(float(n)))
    return layer


def parametrized(torch, parametrization=None, **options):
    return torch.nn.utils.parametrize.register_parametrization(square(torch), "weight", parametrization or symmetric(torch),
                                                               **options)
