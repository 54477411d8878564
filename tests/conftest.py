"""What holds for every test."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes says how busy the machine is. Where time matters, a test of its own bounds it.
settings.register_profile("trapgate", deadline=None)
settings.load_profile("trapgate")
