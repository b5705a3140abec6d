"""Web application in Django: accounts, API, pages, live updates and read model."""
