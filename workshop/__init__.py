"""The workshop: packages that render, train, measure and report. The product needs none of them."""
