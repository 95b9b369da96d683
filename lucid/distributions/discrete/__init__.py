"""Distributions of whole numbers and of choices, and their relaxations.

`bernoulli`, `geometric`, `binomial`, `negative_binomial`, `poisson`: counts.
`categorical`, `one_hot_categorical`, `multinomial`: choices.
`relaxed_bernoulli`, `relaxed_categorical`: continuous ones in their place, with differentiable samples.
"""
