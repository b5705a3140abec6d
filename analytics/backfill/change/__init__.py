"""Prepare a logic change: read its parameters, write its source tree, plan and check its run."""
