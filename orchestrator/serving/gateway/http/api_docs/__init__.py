"""The documentation of the REST API: an OpenAPI document, and a page that shows it."""
