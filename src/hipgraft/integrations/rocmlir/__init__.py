"""What takes the place of the iree-rocMLIR prototype: results of IREE in rocMLIR's modules."""
