// RUN: hipgraft-opt %s --pass-pipeline='builtin.module(cse,test-rename-functions{prefix=a_},func.func(canonicalize{max-iterations=3},cse),test-rename-functions{prefix=b_ private})' --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefixes=TEXT,IR
// RUN: hipgraft-opt %s --cse --test-rename-functions=prefix=a_ -torch-fuse-quantized-ops --test-rename-functions="prefix=b_ private" --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefixes=FLAGS,IR
// RUN: hipgraft-opt %s --test-rename-functions='keep=used,"f g" suffix-numbers=1,2 repeat=2 scale=1.5' --dump-pass-pipeline 2>&1 | FileCheck %s --check-prefix=OPTIONS
// RUN: hipgraft-opt %s --pass-pipeline='' | FileCheck %s --check-prefix=EMPTY
// RUN: hipgraft-opt %s --pass-pipeline=' builtin.module( ) ' | FileCheck %s --check-prefix=EMPTY

// Our passes and MLIR's mix at any place and run in the order in which they are written, in text
// and as flags. A native pass on functions is nested when it is a flag. Options that are not at
// their default are printed back.

// TEXT: Pass Manager with 5 passes:
// TEXT-NEXT: builtin.module(cse,test-rename-functions{prefix=a_},func.func(canonicalize{max-iterations=3},cse),test-rename-functions{prefix=b_ private=true})
// FLAGS: Pass Manager with 4 passes:
// FLAGS-NEXT: builtin.module(cse,test-rename-functions{prefix=a_},func.func(torch-fuse-quantized-ops),test-rename-functions{prefix=b_ private=true})

// IR-LABEL: func.func @b_a_used(
// IR-SAME: %[[X:.*]]: i32
// IR-NEXT: %[[SUM:.*]] = arith.addi %[[X]], %[[X]]
// IR-NEXT: %[[TWICE:.*]] = arith.muli %[[SUM]], %[[SUM]]
// IR-NEXT: return %[[TWICE]]
// IR: func.func private @b_hidden()

// OPTIONS: builtin.module(test-rename-functions{keep=used,"f g" suffix-numbers=1,2 repeat=2 scale=1.5})
// OPTIONS: func.func @used(
// OPTIONS: func.func @new_new_other_1_3(

// EMPTY: func.func @used(
func.func @used(%x: i32) -> i32 {
  %0 = arith.addi %x, %x : i32
  %1 = arith.addi %x, %x : i32
  %2 = arith.muli %0, %1 : i32
  return %2 : i32
}

func.func private @hidden()

func.func @other() {
  return
}
