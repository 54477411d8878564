"""Case → Transcript."""
