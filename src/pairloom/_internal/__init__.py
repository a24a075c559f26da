"""Helpers that several modules share and callers do not import."""
