"""Items at locations: their policies, names and permissions for automation."""
