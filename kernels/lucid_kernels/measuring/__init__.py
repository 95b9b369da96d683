"""How calls are timed so that the times can be believed: for the bench, and for users' operations.

`timing`: a block of calls, and whether other processes had the CPU meanwhile.
`rounds`: blocks of several sides in turn; those that were disturbed are repeated.
`verdicts`: what samples say of a change, with a confidence interval.
`ceilings`, `roofline`, `gpu_roofline`: what the machine can do at most, and the least time of a case that follows.
"""
