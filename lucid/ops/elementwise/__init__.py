"""Element by element: arithmetic, comparisons, functions."""
