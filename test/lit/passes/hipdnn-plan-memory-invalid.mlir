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

// -----

// expected-error @below {{the arena takes more than 2^48 bytes, which no target addresses}}
func.func @too_large() {
  %t0 = gpu.wait async
  %a = memref.alloc() : memref<281474976710655xi8>
  %b = memref.alloc() : memref<281474976710655xi8>
  %t1 = gpu.memcpy async [%t0] %a, %b : memref<281474976710655xi8>, memref<281474976710655xi8>
  %t2 = gpu.memcpy async [%t1] %b, %a : memref<281474976710655xi8>, memref<281474976710655xi8>
  gpu.wait [%t2]
  return
}
