"""Elements by index on the CPU: `elements` reads and writes them, `scatter` adds to them, `masks` chooses them."""
