// RUN: hipgraft-opt %s --split-input-file='// =====' | FileCheck %s

// The line between parts can be chosen.

// CHECK: func.func @same
// CHECK: // -----
// CHECK: func.func @same
func.func @same() { return }
// =====
func.func @same() { return }
