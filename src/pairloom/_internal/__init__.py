"""Internal helpers that several modules share."""
