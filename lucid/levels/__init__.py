"""Arrays of function transforms, and what operations do with them. Imported with the first transform.

`lifted`: batched and dual arrays, their levels, and the dispatch of operations on them.
`moves`: between an array and a lifted one.
`batching`: operations on batched arrays: by a rule, or by a loop that warns.
`rules`: the rules of batched arrays by families.
"""
