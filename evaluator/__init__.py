"""trapgate: tells whether a pull request made an LLM agent worse, and which layer moved."""

__version__ = "0.1.0"
