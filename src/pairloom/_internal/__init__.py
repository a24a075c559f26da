"""What several parts of the package need and callers do not."""
