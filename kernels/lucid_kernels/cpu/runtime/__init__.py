"""How functions are compiled, kept on disk and run on threads, and where the memory of arrays comes from; knows no operation."""
