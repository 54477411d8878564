"""Source string → verified local directory."""
