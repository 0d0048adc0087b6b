"""Learned rules as text, HTML, LaTeX, SQL and JSON."""
