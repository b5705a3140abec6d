"""What `inventory bench peers` needs on this machine: services, environments, the Java peer."""
