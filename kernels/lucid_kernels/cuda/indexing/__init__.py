"""Reading and writing by index.

`bounds`: checks of indices and divisors, reported when the host waits for the device anyway.
`take`: slices and elements by index.
`scatter`: elements written and added by index.
`embedding`: the gradient of slices, of a lookup table above all.
`embedding_bag`: bags of rows of a lookup table.
"""
