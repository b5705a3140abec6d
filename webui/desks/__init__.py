"""One package per desk, the pages for one kind of work: routes, views and queries."""
