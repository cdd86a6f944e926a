"""Pictures that cameras send by themselves: as messages to the gateway, or as files of a folder."""
