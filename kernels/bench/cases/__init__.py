"""The measured cases, a file for each family."""
