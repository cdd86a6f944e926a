"""The models that Triton serves: exports, and the repository that is made of them."""
