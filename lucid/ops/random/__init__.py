"""Random numbers by a counter: the same seed gives the same elements on every device.

`random`: new random tensors.
`random_fill`: tensors filled in place.
`sampling`: distributions with tensors for parameters.
`pathwise`: gamma and Dirichlet numbers, with gradients for their parameters.
`dropout`: dropout.
`quasirandom`: Sobol sequences.
`_binomial`: the binomial distribution.
`random_numbers`: counters and checks that they share.
"""
