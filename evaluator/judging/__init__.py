"""Between transcripts and scores, where a task brings a judge of its own: runs it, and gives its verdicts as a ruler.

The only package that runs a task's commands, each in an isolation (`evaluator.isolation`). What comes out is data: the
scoring, comparing and gating that follow are pure. What a judge is given and what its answers mean: docs/judges.md.
"""
