"""The first half hour on a GPU: what works, what differs from a CPU, and what is fast.

Each step is a process of its own, takes less than ten minutes, and writes one file. So a step that
crashes costs itself alone, and a run that was cut off goes on where it ended.
"""
