"""The one way in which code that others wrote is run: a task's judge, grader and setup command, a black-box solution.

`available` tries what this machine allows and gives an `Isolation`, or a `Refusal` with reasons. The supervisor of each
command, in `inside`, is a process of its own and imports next to nothing: it starts once per command, as root where we
are root. This module imports nothing for the same reason. What each means protects from: docs/security.md.
"""
