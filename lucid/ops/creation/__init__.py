"""New tensors.

`creation`: zeros, ones, arange, linspace, eye and their kin.
`fill`: one number in every element of a tensor that is there.
`types`: the legacy constructors, such as `FloatTensor`.
"""
