"""How things look: terminal, HTML and LaTeX."""
