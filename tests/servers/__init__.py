"""Servers that stand where a real one would: real sockets, scripted answers."""
