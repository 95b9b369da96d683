"""Random numbers, the same bits as on a CPU.

`random`: Philox4x32-10 by a counter, and the distributions.
`gamma`: numbers from gamma distributions.
`pathwise`: how gamma and Dirichlet numbers move with their parameters.
"""
