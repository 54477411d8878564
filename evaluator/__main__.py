"""`python -m evaluator` is the `trapgate` command."""

from evaluator.cli import console

console()
