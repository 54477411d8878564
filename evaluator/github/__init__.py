"""GitHub, and nothing else: its environment, events, API, comments and workflow commands.

Nothing in `evaluator` outside of this package imports from here; `entrypoint.py` joins the two.
"""
