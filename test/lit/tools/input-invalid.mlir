// RUN: not hipgraft-opt %s 2>&1 | FileCheck %s
// RUN: not hipgraft-opt < %s 2>&1 | FileCheck %s --check-prefix=STDIN
// RUN: not hipgraft-opt %s.none 2>&1 | FileCheck %s --check-prefix=NO-FILE
// RUN: not hipgraft-opt %S 2>&1 | FileCheck %s --check-prefix=FOLDER
// RUN: %{python} -c "open(r'%t.bin', 'wb').write(b'func.func @f() {\n\xff\n}')"
// RUN: not hipgraft-opt %t.bin 2>&1 | FileCheck %s --check-prefix=BINARY
// RUN: %{python} -c "open(r'%t.bc', 'wb').write(b'ML\xefR\x01\x02')"
// RUN: not hipgraft-opt %t.bc 2>&1 | FileCheck %s --check-prefix=BYTECODE

// Input that does not parse is an error at its place, with the line and a caret.

// STDIN: <stdin>:{{[0-9]+}}:8: error
// NO-FILE: error: cannot open input file '{{.*}}.none': No such file or directory
// FOLDER: error: the folder has no 'graph.template.json'
// BINARY: .bin:2:1: error: invalid UTF-8 in MLIR text
// BYTECODE: error:
// BYTECODE-NOT: Traceback

// CHECK: input-invalid.mlir:[[# @LINE + 4]]:8: error: 'arith.addi' op operand #0 must be {{.*}}integer-like
// CHECK-NEXT: {{^}}  %0 = arith.addi %x, %x : f32
// CHECK-NEXT: {{^}}       ^
func.func @f(%x: f32) {
  %0 = arith.addi %x, %x : f32
  return
}
