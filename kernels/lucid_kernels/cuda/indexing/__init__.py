"""Reading and writing by index.

`bounds`: checks of indices, reported when the host waits for the device anyway.
`embedding`: the gradient of a lookup table.
"""
