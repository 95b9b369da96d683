"""Reading and writing by index.

`bounds`: checks of indices, reported when the host waits for the device anyway.
`take`: slices and elements by index.
`embedding`: the gradient of slices, of a lookup table above all.
"""
