"""One input channel a group.

`planes`: images and volumes, one plane of the result at a time; chooses the loops.
`channels`: small planes and large windows, with channels as lanes.
`volumes`: volumes, plane by plane.
`plane_microkernels`, `plane_grad_microkernels`, `channel_microkernels`: the inner loops.
"""
