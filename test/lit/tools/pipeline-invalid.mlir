// REQUIRES: slow
// RUN: not hipgraft-opt %s --pass-pipeline='builtin.module(cse,no-such-pass)' 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not hipgraft-opt %s --pass-pipeline='test-rename-function' 2>&1 | FileCheck %s --check-prefix=NEAREST
// RUN: not hipgraft-opt %s --pass-pipeline='builtin.module(func.func(cse,test-fail))' 2>&1 | FileCheck %s --check-prefix=NESTED
// RUN: not hipgraft-opt %s --pass-pipeline='builtin.module(cse' 2>&1 | FileCheck %s --check-prefix=UNCLOSED
// RUN: not hipgraft-opt %s --pass-pipeline='cse)' 2>&1 | FileCheck %s --check-prefix=EXTRA
// RUN: not hipgraft-opt %s --pass-pipeline='cse,,cse' 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not hipgraft-opt %s --pass-pipeline='cse,test-fail{op=a' 2>&1 | FileCheck %s --check-prefix=BRACE
// RUN: not hipgraft-opt %s --pass-pipeline='cse,test-fail{no=a}' 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not hipgraft-opt %s --pass-pipeline='test-fail{reason=a}' 2>&1 | FileCheck %s --check-prefix=OPTION-KNOWN
// RUN: not hipgraft-opt %s --pass-pipeline='convert-hipdnn-to-torch{no=a}' 2>&1 | FileCheck %s --check-prefix=OPTION-NONE
// RUN: not hipgraft-opt %s --pass-pipeline='test-rename-functions{repeat=2 prefx=a}' 2>&1 | FileCheck %s --check-prefix=OPTION-NEAREST
// RUN: not hipgraft-opt %s --pass-pipeline='test-rename-functions{repeat=2 scale=x}' 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not hipgraft-opt %s --pass-pipeline='test-rename-functions{suffix-numbers=1,x}' 2>&1 | FileCheck %s --check-prefix=LIST
// RUN: not hipgraft-opt %s --pass-pipeline='test-rename-functions{repeat=1 repeat=2}' 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not hipgraft-opt %s --pass-pipeline='test-fail{op}' 2>&1 | FileCheck %s --check-prefix=BARE
// RUN: not hipgraft-opt %s --pass-pipeline='canonicalize{no=1}' 2>&1 | FileCheck %s --check-prefix=NATIVE
// RUN: not hipgraft-opt %s --test-fial 2>&1 | FileCheck %s --check-prefix=FLAG
// RUN: not hipgraft-opt %s --pass-pipeline=cse --cse 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not hipgraft-opt %s --mlir-print-ir-after=cs 2>&1 | FileCheck %s --check-prefix=AFTER
// RUN: not hipgraft-opt %s --verify-each=maybe 2>&1 | FileCheck %s --check-prefix=BOOL
// RUN: not hipgraft-opt %s --mlir-elide-elementsattrs-if-larger=x 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not hipgraft-opt %s %s 2>&1 | FileCheck %s --check-prefix=TWO

// A malformed command line or pipeline is an error with its column, before anything is read or run.

// UNKNOWN: <pass-pipeline>:1:20: error: 'no-such-pass' is not a pass or pipeline
// UNKNOWN-NEXT: builtin.module(cse,no-such-pass)
// UNKNOWN-NEXT: {{^}}                   ^
// NEAREST: <pass-pipeline>:1:1: error: 'test-rename-function' is not a pass or pipeline; did you mean 'test-rename-functions'?
// NESTED: <pass-pipeline>:1:30: error: 'test-fail' runs on 'builtin.module' and cannot be nested on 'func.func'
// UNCLOSED: <pass-pipeline>:1:19: error: expected ',' or ')' in the pipeline on 'builtin.module'
// EXTRA: <pass-pipeline>:1:4: error: expected ',' or the end of the pipeline, found ')'
// MISSING: <pass-pipeline>:1:5: error: expected the name of a pass, a pipeline or an op
// BRACE: <pass-pipeline>:1:14: error: unclosed '{'
// OPTION: <pass-pipeline>:1:15: error: 'test-fail' has no option 'no'
// OPTION-KNOWN: <pass-pipeline>:1:11: error: 'test-fail' has no option 'reason'; it has op
// OPTION-NONE: <pass-pipeline>:1:25: error: 'convert-hipdnn-to-torch' has no option 'no'
// OPTION-NONE-NOT: it has
// OPTION-NEAREST: <pass-pipeline>:1:32: error: 'test-rename-functions' has no option 'prefx'; did you mean 'prefix'?{{$}}
// VALUE: <pass-pipeline>:1:32: error: invalid value 'x' for option 'scale' of 'test-rename-functions': expected float
// LIST: <pass-pipeline>:1:23: error: invalid value '1,x' for option 'suffix-numbers' of 'test-rename-functions': expected list of int
// TWICE: <pass-pipeline>:1:32: error: option 'repeat' of 'test-rename-functions' is given twice
// BARE: <pass-pipeline>:1:11: error: option 'op' of 'test-fail' needs a value
// NATIVE: <pass-pipeline>:1:1: error: {{.*}}no such option no
// FLAG: error: unknown command line argument '--test-fial'; try 'hipgraft-opt --help'; did you mean '--test-fail'?
// BOTH: error: '--pass-pipeline' cannot be used with individual passes
// AFTER: error: for the --mlir-print-ir-after option: cannot find a pass named 'cs'
// BOOL: error: for the --verify-each option: 'maybe' is no boolean; try 0 or 1
// NUMBER: error: for the --mlir-elide-elementsattrs-if-larger option: 'x' is no number
// TWO: error: too many positional arguments
func.func @f() {
  return
}
