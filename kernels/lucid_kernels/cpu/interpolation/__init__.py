"""Images resized, or read at any coordinates."""
