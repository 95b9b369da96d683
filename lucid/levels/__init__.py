"""Arrays inside function transforms (`vmap` and forward mode), and what operations do with them. Imported with the first one.

`lifted`: batched and dual arrays, their levels, and the dispatch of operations on them.
`conversion`: from an array to a lifted one and back.
`batching`: operations on batched arrays: by a rule, or by a loop that warns.
`rules`: the rules of batched arrays by families.
"""
