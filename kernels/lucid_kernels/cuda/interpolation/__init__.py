"""Images read at any coordinates."""
