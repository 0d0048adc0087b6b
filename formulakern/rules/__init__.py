"""What is learned: concrete rules over named columns."""
