"""The networks: a registry, a module for each, their weights, and the engines that run them."""
