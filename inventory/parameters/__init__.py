"""Policy parameters that a logic revision sets over the policy rows of the log (domain.md 2.6)."""
