"""Operation: metrics, the audit log and traces."""
