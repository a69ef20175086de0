// RUN: hipgraft-opt %s --split-input-file --torch-legalize-operators --verify-diagnostics

// Forms that have no legal counterpart are errors at the op.

func.func @saved_statistics(%x: !torch.vtensor<[1,8,4,4],f32>, %c: !torch.vtensor<[8],f32>)
    -> !torch.vtensor<[0],f32> {
  %momentum = torch.constant.float 1.000000e-01
  %eps = torch.constant.float 1.000000e-05
  // expected-error @below {{'aten._native_batch_norm_legit_no_training': the saved statistics are used}}
  %0:3 = torch.operator "torch.aten._native_batch_norm_legit_no_training"(%x, %c, %c, %c, %c,
      %momentum, %eps)
    : (!torch.vtensor<[1,8,4,4],f32>, !torch.vtensor<[8],f32>, !torch.vtensor<[8],f32>,
       !torch.vtensor<[8],f32>, !torch.vtensor<[8],f32>, !torch.float, !torch.float)
    -> (!torch.vtensor<[1,8,4,4],f32>, !torch.vtensor<[0],f32>, !torch.vtensor<[0],f32>)
  return %0#1 : !torch.vtensor<[0],f32>
}

// -----

func.func @second_difference(%x: !torch.vtensor<[5],f32>) -> !torch.vtensor<[3],f32> {
  %int2 = torch.constant.int 2
  %int-1 = torch.constant.int -1
  %none = torch.constant.none
  // expected-error @below {{'aten.diff' of order 2 is not supported}}
  %0 = torch.operator "torch.aten.diff"(%x, %int2, %int-1, %none, %none)
    : (!torch.vtensor<[5],f32>, !torch.int, !torch.int, !torch.none, !torch.none)
    -> !torch.vtensor<[3],f32>
  return %0 : !torch.vtensor<[3],f32>
}

// -----

func.func @computed_axis(%x: !torch.vtensor<[4,4],f32>, %dim: !torch.int) -> !torch.vtensor<[4,4],f32> {
  %one = torch.constant.int 1
  %none = torch.constant.none
  // expected-error @below {{'aten.diff' expects a constant operand #2}}
  %0 = torch.operator "torch.aten.diff"(%x, %one, %dim, %none, %none)
    : (!torch.vtensor<[4,4],f32>, !torch.int, !torch.int, !torch.none, !torch.none)
    -> !torch.vtensor<[4,4],f32>
  return %0 : !torch.vtensor<[4,4],f32>
}

// -----

func.func @einsum_of_other_ranks(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[],f32> {
  %equation = torch.constant.str "abc"
  %none = torch.constant.none
  %list = torch.prim.ListConstruct %x : (!torch.vtensor<[2,3],f32>) -> !torch.list<vtensor>
  // expected-error @below {{'aten.einsum' expects an index for each dimension, found 3 for 2}}
  %0 = torch.aten.einsum %equation, %list, %none
    : !torch.str, !torch.list<vtensor>, !torch.none -> !torch.vtensor<[],f32>
  return %0 : !torch.vtensor<[],f32>
}

// -----

func.func @rolled(%x: !torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,4],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %shifts = torch.prim.ListConstruct %int1 : (!torch.int) -> !torch.list<int>
  %dims = torch.prim.ListConstruct %int0 : (!torch.int) -> !torch.list<int>
  // expected-error @below {{'aten.roll' expects dimension 0 of '!torch.vtensor<[?,4],f32>' to be static}}
  %0 = torch.aten.roll %x, %shifts, %dims
    : !torch.vtensor<[?,4],f32>, !torch.list<int>, !torch.list<int> -> !torch.vtensor<[?,4],f32>
  return %0 : !torch.vtensor<[?,4],f32>
}

// -----

func.func @roll_of_no_dimension(%x: !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32> {
  %int5 = torch.constant.int 5
  %list = torch.prim.ListConstruct %int5 : (!torch.int) -> !torch.list<int>
  // expected-error @below {{'aten.roll' expects '!torch.vtensor<[4,4],f32>' to have a dimension 5}}
  %0 = torch.aten.roll %x, %list, %list
    : !torch.vtensor<[4,4],f32>, !torch.list<int>, !torch.list<int> -> !torch.vtensor<[4,4],f32>
  return %0 : !torch.vtensor<[4,4],f32>
}

// -----

func.func @roll_by_fewer_shifts(%x: !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %one = torch.prim.ListConstruct %int1 : (!torch.int) -> !torch.list<int>
  %two = torch.prim.ListConstruct %int0, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  // expected-error @below {{'aten.roll' expects as many shifts as dimensions, found 1 and 2}}
  %0 = torch.aten.roll %x, %one, %two
    : !torch.vtensor<[4,4],f32>, !torch.list<int>, !torch.list<int> -> !torch.vtensor<[4,4],f32>
  return %0 : !torch.vtensor<[4,4],f32>
}

// -----

func.func @no_groups(%x: !torch.vtensor<[2,8,4,4],f32>, %c: !torch.vtensor<[8],f32>)
    -> !torch.vtensor<[2,8,4,4],f32> {
  %int0 = torch.constant.int 0
  %eps = torch.constant.float 1.000000e-05
  %true = torch.constant.bool true
  // expected-error @below {{'aten.group_norm' expects groups of equal size, found 0 of 8 channels}}
  %0 = torch.aten.group_norm %x, %int0, %c, %c, %eps, %true
    : !torch.vtensor<[2,8,4,4],f32>, !torch.int, !torch.vtensor<[8],f32>, !torch.vtensor<[8],f32>,
      !torch.float, !torch.bool -> !torch.vtensor<[2,8,4,4],f32>
  return %0 : !torch.vtensor<[2,8,4,4],f32>
}

// -----

func.func @dropout_in_training(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %p = torch.constant.float 5.000000e-01
  %true = torch.constant.bool true
  // expected-error @below {{'aten.dropout' in training draws random numbers}}
  %0 = torch.aten.dropout %x, %p, %true
    : !torch.vtensor<[4],f32>, !torch.float, !torch.bool -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----

func.func @mask_of_dropout(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],i1> {
  %p = torch.constant.float 5.000000e-01
  %false = torch.constant.bool false
  // expected-error @below {{'aten.native_dropout': its mask is used}}
  %0, %1 = torch.aten.native_dropout %x, %p, %false
    : !torch.vtensor<[4],f32>, !torch.float, !torch.bool
    -> !torch.vtensor<[4],f32>, !torch.vtensor<[4],i1>
  return %1 : !torch.vtensor<[4],i1>
}

// -----

func.func @places_in_windows_of_different_extents(%x: !torch.vtensor<[2,8],f32>) -> !torch.vtensor<[2,3],si64> {
  %three = torch.constant.int 3
  %count = torch.prim.ListConstruct %three : (!torch.int) -> !torch.list<int>
  // expected-error @below {{'aten.adaptive_max_pool1d': the positions of maxima in windows of different extents are used}}
  %0:2 = torch.aten.adaptive_max_pool1d %x, %count : !torch.vtensor<[2,8],f32>, !torch.list<int> -> !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],si64>
  return %0#1 : !torch.vtensor<[2,3],si64>
}

// -----

// torch-mlir would read beyond the literal.
func.func @view_of_more_elements() -> !torch.vtensor<[2,4],f32> {
  %0 = torch.vtensor.literal(dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>) : !torch.vtensor<[2,3],f32>
  %two = torch.constant.int 2
  %four = torch.constant.int 4
  %shape = torch.prim.ListConstruct %two, %four : (!torch.int, !torch.int) -> !torch.list<int>
  // expected-error @below {{'aten.view' of 6 elements cannot result in shape [2, 4]}}
  %1 = torch.aten.view %0, %shape : !torch.vtensor<[2,3],f32>, !torch.list<int> -> !torch.vtensor<[2,4],f32>
  return %1 : !torch.vtensor<[2,4],f32>
}

// -----

func.func @log_cum_sum_exp(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %zero = torch.constant.int 0
  // expected-error @below {{'aten.logcumsumexp' is not supported: torch-mlir's sum of exponentials overflows}}
  %0 = torch.operator "torch.aten.logcumsumexp"(%x, %zero) : (!torch.vtensor<[4],f32>, !torch.int) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----

func.func @adaptive_average_pool_of_a_dynamic_extent(%x: !torch.vtensor<[2,?],f32>) -> !torch.vtensor<[2,3],f32> {
  %three = torch.constant.int 3
  %count = torch.prim.ListConstruct %three : (!torch.int) -> !torch.list<int>
  // expected-error @below {{'aten.adaptive_avg_pool1d' of dynamic extents is supported for one result only}}
  %0 = torch.aten.adaptive_avg_pool1d %x, %count : !torch.vtensor<[2,?],f32>, !torch.list<int> -> !torch.vtensor<[2,3],f32>
  return %0 : !torch.vtensor<[2,3],f32>
}
