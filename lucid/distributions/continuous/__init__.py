"""Distributions of real numbers.

`normal`, `laplace`, `cauchy`, `gumbel`, `studentT`: on the whole line.
`exponential`, `gamma`, `chi2`, `fishersnedecor`, `weibull`, `inverse_gamma`, `log_normal`: on the half line.
`half`, `half_normal`, `half_cauchy`: there too, as absolute values.
`pareto`, `generalized_pareto`: above a threshold.
`uniform`, `beta`, `kumaraswamy`, `continuous_bernoulli`: on an interval.
`von_mises`: angles.
"""
