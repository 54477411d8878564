"""The platform: REST client, events, comments, workflow commands."""
