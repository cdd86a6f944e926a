"""Who may do what: roles of keys and people, sessions."""
