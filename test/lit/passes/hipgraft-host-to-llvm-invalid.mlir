// RUN: hipgraft-opt %s --split-input-file --hipgraft-host-to-llvm --verify-diagnostics
// One architecture must be chosen, and the program must be for it.

// expected-error @below {{expected a target, as the program is for gfx1100, gfx942}}
module {
  func.func @main(%x: memref<4xf32>)
      attributes {hipgraft.results = 1 : i64, hipgraft.targets = ["gfx942", "gfx1100"]} {
    return
  }
}

// -----

// expected-error @below {{expected a target, as the program is for no architecture}}
module {
  func.func @main(%x: memref<4xf32>) attributes {hipgraft.results = 1 : i64} {
    return
  }
}
