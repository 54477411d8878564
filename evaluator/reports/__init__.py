"""Run → text for people."""
