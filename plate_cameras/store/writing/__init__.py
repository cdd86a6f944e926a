"""The way of an event into the database, and the spool where it waits."""
