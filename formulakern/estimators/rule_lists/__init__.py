"""Rule lists."""
