// RUN: hipgraft-opt %s --split-input-file --hipdnn-deduplicate --verify-diagnostics
// Sizes are computed without wrapping: what no target can address is an error.

// expected-error @below {{'!torch.vtensor<[4294967296,4294967296],f32>' takes more than 2^48 bytes}}
func.func @torch(%x: !torch.vtensor<[4294967296,4294967296],f32>) {
  return
}

// -----

func.func @inside(%x: !torch.vtensor<[1099511627776,1],f32>, %y: !torch.vtensor<[1099511627776],f32>) {
  %one = torch.constant.int 1
  // expected-error @below {{takes more than 2^48 bytes}}
  %0 = torch.aten.add.Tensor %x, %y, %one
    : !torch.vtensor<[1099511627776,1],f32>, !torch.vtensor<[1099511627776],f32>, !torch.int
    -> !torch.vtensor<[1099511627776,1099511627776],f32>
  return
}

// -----

// expected-error @below {{'tensor<1099511627776x1099511627776xi8>' takes more than 2^48 bytes}}
func.func @tensor(%x: tensor<1099511627776x1099511627776xi8>) {
  return
}

// -----

// Two elements may be far from each other.
// expected-error @below {{takes more than 2^48 bytes}}
func.func @strides(%x: memref<2xf32, strided<[1099511627776000], offset: ?>>) {
  return
}

// -----

// expected-error @below {{takes more than 2^48 bytes}}
func.func @offset(%x: memref<2xf32, strided<[1], offset: 1099511627776000>>) {
  return
}

// -----

// expected-error @below {{takes more than 2^48 bytes}}
func.func @migraphx(%x: !migraphx.shaped<4294967296x4294967296xf32, 4294967296x1>) {
  return
}

// -----

// A broadcast repeats what it has; nothing is large about a dimension of no extent.
func.func @fits(%x: !migraphx.shaped<4294967296x4294967296xf32, 0x0>,
                %y: memref<0x1099511627776x1099511627776xf32>, %z: tensor<?x1099511627776xf32>) {
  return
}
