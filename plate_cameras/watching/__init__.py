"""The watcher: carries frames from the sources through the service to the store and the sinks."""
