"""Distributions of vectors and of matrices.

`dirichlet`, `logistic_normal`: vectors of probabilities.
`multivariate_normal`, `lowrank_multivariate_normal`: vectors of real numbers.
`wishart`, `lkj_cholesky`: matrices.
"""
