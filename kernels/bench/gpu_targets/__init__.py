"""What a GPU is measured by: targets of its own for the cases of `targets`, and cases that only a GPU has.

`bounds`: the most that the ratio to PyTorch should be.
`large_models`: training steps of ResNet-50 and of a GPT-2 in bfloat16.
`half_attention`: attention in bfloat16.
`memory_bound`: operations that only move memory, from 64 MiB.
`reduced`: reductions and their gradients, likewise.
`by_index`: elements read, written and combined by index.
`layers`: layers with what follows them in the epilogue of a product, convolutions with packed weights, recurrent layers.
"""

#: The files of this folder that hold cases, in the order of the table.
FAMILIES = ("large_models", "half_attention", "memory_bound", "layers", "by_index", "reduced")
