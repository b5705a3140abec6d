"""A logic change before it runs: parameters, source trees, refusals, and the plan that is shown."""
