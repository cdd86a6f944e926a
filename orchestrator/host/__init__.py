"""The operating system: processes, memory, locked folders, the heartbeat, TOML files."""
