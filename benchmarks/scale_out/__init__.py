"""Many replicas behind one balancer: what a failure costs, what another replica brings."""
