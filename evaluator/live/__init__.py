"""Live canaries: a few cheap requests of trapgate's own that show what the provider accepts today.

`canaries` is what is sent, `plan` adds it to a run's attempts, `results` says what became of it, and `comparison` holds
that to the baseline's. docs/live-canaries.md has the whole of it in words.
"""
