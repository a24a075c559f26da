"""Views show texts as tokens in a self-contained HTML page."""
