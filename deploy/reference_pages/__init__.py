"""Parts of docs/reference, generated from the routes, metrics, topics and schemas of the code."""
