"""HTTP: the ASGI application, its routes, KServe v2, REST, and the web page."""
