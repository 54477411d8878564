"""Directory → Task, one module per format."""
