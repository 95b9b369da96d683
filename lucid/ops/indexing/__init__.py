"""Reading and writing by index or mask."""
