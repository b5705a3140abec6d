"""One package per desk: routes, views and queries."""
