"""Events about decisions, for programs that follow the decisions."""
