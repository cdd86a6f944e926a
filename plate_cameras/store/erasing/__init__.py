"""What is deleted: by age, and on the request of a person."""
