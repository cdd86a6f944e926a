"""Injects faults into a real `plates watch` and its surroundings, and compares with the truth."""
