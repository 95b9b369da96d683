"""Reading and writing by index, mask or order.

`bounds`: checks of indices.
`largest_index`: the largest of many indices.
`index_select`: slices by index.
`index_add`: slices added up by index, the gradient of `index_select`.
`embedding`: the gradient of a lookup table.
`embedding_bag`: bags of rows of a table, summed or with their maxima.
`bag_microkernels`: sums of the rows of a bag, in registers.
`gather_scatter`: one element for each index, read, written or combined.
`masked_select`: elements chosen by a mask, side by side (stream compaction).
`histogram`: counts of integers, and of elements in bins.
`searchsorted`: positions in sorted sequences.
`sort`: radix sort of any dtype.
"""
from ..runtime import numba_import as numba_import
