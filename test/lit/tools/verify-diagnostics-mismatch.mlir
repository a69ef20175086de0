// RUN: not hipgraft-opt %s --split-input-file --verify-diagnostics --test-emit-error 2>&1 | FileCheck %s

// What is expected and does not come, what comes unexpected, and what is expected at another line
// or of another kind, fails.

// CHECK: mismatch.mlir:{{[0-9]+}}:1: error: unexpected error: test error
// CHECK-NEXT: {{^}}func.func @wrong_text
// CHECK: mismatch.mlir:{{[0-9]+}}:4: error: expected error "another" was not produced
// CHECK-NEXT: {{^}}// expected-error @below {{[{][{]}}another
// expected-error @below {{another}}
func.func @wrong_text() { return }

// -----

// CHECK: mismatch.mlir:{{[0-9]+}}:1: error: unexpected error: test error
// CHECK-NEXT: {{^}}func.func @unexpected
func.func @unexpected() { return }

// -----

// CHECK: mismatch.mlir:{{[0-9]+}}:1: error: unexpected error: test error
// CHECK-NEXT: {{^}}func.func @wrong_kind
// CHECK: mismatch.mlir:{{[0-9]+}}:4: error: expected warning "test error" was not produced
// expected-warning @below {{test error}}
func.func @wrong_kind() { return }

// -----

// CHECK: mismatch.mlir:{{[0-9]+}}:1: error: unexpected error: test error
// CHECK-NEXT: {{^}}func.func @wrong_line
// CHECK: mismatch.mlir:{{[0-9]+}}:4: error: expected error "test error" was not produced
// expected-error @below {{test error}}

func.func @wrong_line() { return }

// -----

// CHECK: mismatch.mlir:{{[0-9]+}}:4: error: malformed expectation
// expected-error @sideways {{test error}}
