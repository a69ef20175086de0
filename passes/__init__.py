"""The passes, one per file; the file name determines the pass name."""
