"""The same pipeline behind FastAPI, beside ours and under the same load."""
