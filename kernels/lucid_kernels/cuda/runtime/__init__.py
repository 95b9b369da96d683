"""Loading and launching, and what all sources include."""
