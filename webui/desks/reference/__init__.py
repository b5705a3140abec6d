"""The admin: products, locations and suppliers; people and roles to look up (decision 0031)."""
