"""The composition: what starts, configures and commands all other parts."""
