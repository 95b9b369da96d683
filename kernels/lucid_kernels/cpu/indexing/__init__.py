"""Reading and writing by index, mask or order."""
