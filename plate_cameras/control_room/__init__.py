"""The control room: passes, lists, cameras and gates over HTTP, with pages for people.

It runs in the gateway's processes, as their extension. `plates watch` fills the store.
"""
