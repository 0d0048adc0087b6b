"""Models as files: plain JSON, read without running anything that stands in it."""
