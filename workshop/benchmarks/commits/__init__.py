"""Compares the speed and the accuracy of two commits in one run, with confidence intervals."""
