module {
  func.func @f(%x: i32) -> (i32, i32) {
    %0 = arith.addi %x, %x : i32
    %1 = arith.addi %x, %x : i32
    return %0, %1 : i32, i32
  }
}

{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(cse)",
      disable_threading: false,
      verify_each: true
    }
  }
#-}
