// RUN: hipgraft-opt %s --split-input-file --verify-diagnostics --pass-pipeline='test-rename-functions,test-emit-error' --remarks

// Expected diagnostics are found on the line itself, above, below, at a distance, by regular
// expression, and without a location. A failure that is expected is none.

// expected-error @below {{test error}}
// expected-remark-re @below {{renamed {{'[a-z]+'}} [passed=}}
func.func @below() { return }

// -----

func.func @above() { return }
// expected-error @above {{test error}}
// expected-remark @above {{renamed 'above'}}

// -----

func.func @here() { return } // expected-error {{test error}}
// expected-remark @-1 {{renamed}}

// -----

// expected-error @+3 {{test error}}

// expected-remark@+1 {{has the prefix}}
func.func @new_f() { return }

// -----

func.func @f() {
  // expected-error @+1 {{use of undeclared SSA value name}}
  return %x : i32
}

// -----

// expected-note @+2 {{see existing symbol definition here}}
module {
  func.func @g() { return }
  // expected-error @+1 {{redefinition of symbol named 'g'}}
  func.func @g() { return }
}
