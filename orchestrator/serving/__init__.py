"""What serves the model: the gateway, the supervisor of Triton, and what they tell each other."""
