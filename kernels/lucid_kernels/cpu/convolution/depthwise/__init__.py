"""One input channel a group.

`selection`: which of the kernels compute a layer.
`images`: images as volumes of one slice.
`planes`: one plane of the result at a time.
`channels`: small planes and large windows, with channels as lanes.
`volumes`: volumes, plane by plane.
`plane_microkernels`, `plane_grad_microkernels`, `channel_microkernels`: the inner loops.
"""
