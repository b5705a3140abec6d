"""Events of decisions, for programs that follow them."""
