"""(Case, Transcript) → Score. Pure."""
