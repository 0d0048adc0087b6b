"""Models as files: plain JSON, read without running anything in it."""
