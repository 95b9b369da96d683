"""Elements moved from one place to another."""
