"""Element by element, with broadcasting and type promotion.

`arithmetic`: the arithmetic operators, `pow`, `maximum` and `minimum`.
`binary`: other functions of two tensors.
`comparison`: comparisons and logic.
`bitwise`: and, or, xor, not, and shifts of bits.
`where`: elements of one tensor or another.
`clamp`: elements between two bounds.
`ternary`: functions of three tensors.
`unary`: functions of one tensor.
`trigonometry`: circular and hyperbolic functions.
`special`: error functions, normal distribution, Bessel functions.
`bessel`, `bessel_tables`: Bessel and Airy functions, and the coefficients of their series.
`polynomials`: orthogonal polynomials.
`gamma`: gamma functions.
`float_parts`: `frexp`.
`fused`: compositions of operations as one kernel.
"""
