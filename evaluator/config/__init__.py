"""trap.yaml → Config."""
