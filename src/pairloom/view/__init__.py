"""Views: texts as tokens in a self-contained HTML page."""
