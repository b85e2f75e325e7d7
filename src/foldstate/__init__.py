"""Foldstate folds everything that happens in an agent's session into one small, budgeted current state."""

__version__ = "0.1.0"
