"""The store: passes, their readings and pictures, lists, and deliveries, in SQL."""
