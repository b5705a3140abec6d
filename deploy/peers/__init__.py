"""Parts on this machine for `inventory bench peers`: services, environments, the Java peer."""
