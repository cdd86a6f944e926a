"""The tables, the connections to their database, and its clock."""
