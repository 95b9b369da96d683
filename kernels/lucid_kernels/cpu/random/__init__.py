"""Random numbers, the same bits as on a GPU.

`random`: Philox4x32-10 by a counter, and the distributions.
`gamma`: numbers from gamma distributions.
`pathwise`: how gamma and Dirichlet numbers move with their parameters.
`poisson`: quantiles of Poisson distributions, one uniform number each.
"""
from ..runtime import numba_import as numba_import
