"""Cameras: from the frames of a stream to passes of vehicles, kept and delivered.

sources -> frames -> the service -> tracks -> passes -> store -> sinks
"""
