"""Distributions of real numbers.

`normal`, `laplace`, `cauchy`, `gumbel`, `studentT`: on the whole line.
`exponential`, `gamma`, `chi2`, `fishersnedecor`, `weibull`, `inverse_gamma`, `log_normal`, `half_normal`, `half_cauchy`: on
the half line.
`pareto`, `generalized_pareto`: above a threshold.
`uniform`, `beta`, `kumaraswamy`, `continuous_bernoulli`: on an interval.
`von_mises`: angles.
"""
