// RUN: hipgraft-opt %s --split-input-file --hipdnn-plan-memory --verify-diagnostics
// Buffers can be planned only where a chain of tokens orders their uses.

// expected-error @below {{'func.func' op has buffers but no chain of async tokens from a 'gpu.wait async' to a 'gpu.wait'}}
func.func @no_chain() {
  %a = memref.alloc() : memref<40xi8>
  return
}

// -----

func.func @too_early() {
  // expected-error @below {{'memref.alloc' op precedes the first 'gpu.wait async'}}
  %a = memref.alloc() : memref<40xi8>
  %t0 = gpu.wait async
  gpu.wait [%t0]
  return
}
