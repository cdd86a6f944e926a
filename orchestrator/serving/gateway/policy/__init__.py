"""Policy: authentication, validation, quotas, admission and the fair queue."""
