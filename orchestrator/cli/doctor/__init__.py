"""The command `plates doctor`: a machine, what a server would use there, and what hinders it."""
