"""Items at locations and their policies; names of products, locations and suppliers."""
