"""Formula → Formula: rules, the passes that apply them, and the trace they leave."""
