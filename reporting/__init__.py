"""What evaluation and benchmarks share: tables, plots, comparisons, and reports as files."""
