"""What can be asked of a formula, and into which forms it can be brought, without a kernel."""
