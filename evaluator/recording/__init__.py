"""What a model did, written down as fixtures: recordings of live runs, and drafts made of other programs' logs."""
