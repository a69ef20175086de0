// RUN: hipgraft-opt %s --pass-pipeline='builtin.module(hipdnn-outline)'
"builtin.module"() ({
  "memref.global"() <{constant, initial_value = dense_resource<w_1> : memref<2xf16>, sym_name = "w", sym_visibility = "private", type = memref<2xf16>}> : () -> ()
}) : () -> ()

{-#
  dialect_resources: {
    builtin: {
      w_1: "0x02000000003C0040"
    }
  }
#-}
