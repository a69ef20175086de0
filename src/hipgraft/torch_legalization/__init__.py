"""What `torch-legalize-operators` rewrites ops into, where that takes more than a few lines."""
