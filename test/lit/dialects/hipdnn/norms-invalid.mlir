// RUN: hipgraft-opt %s --verify-diagnostics

// The rules of normalisations, each broken once.

func.func @inference_channels(%a: tensor<2x8x4x4xf16>, %b: tensor<1x8x1x1xf32>, %c: tensor<1x8x1x1xf32>, %d: tensor<8xf32>, %e: tensor<1x8x1x1xf32>) {
  // expected-error @below {{'hipdnn.batchnorm_inference' op expected shape 1x8x1x1 of 'scale', but found 8}}
  %0 = "hipdnn.batchnorm_inference"(%a, %b, %c, %d, %e)
    : (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<8xf32>, tensor<1x8x1x1xf32>)
    -> tensor<2x8x4x4xf16>
  return
}

func.func @inference_result(%a: tensor<2x8x4x4xf16>, %b: tensor<1x8x1x1xf32>, %c: tensor<1x8x1x1xf32>, %d: tensor<1x8x1x1xf32>, %e: tensor<1x8x1x1xf32>) {
  // expected-error @below {{'hipdnn.batchnorm_inference' op expected shape 2x8x4x4 of 'y', but found 2x8x4x5}}
  %0 = "hipdnn.batchnorm_inference"(%a, %b, %c, %d, %e)
    : (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>)
    -> tensor<2x8x4x5xf16>
  return
}

func.func @inference_rank(%a: tensor<8xf16>, %b: tensor<1x8x1x1xf32>, %c: tensor<1x8x1x1xf32>, %d: tensor<1x8x1x1xf32>, %e: tensor<1x8x1x1xf32>) {
  // expected-error @below {{'hipdnn.batchnorm_inference' op expected 'x' of rank 2 or more, but found rank 1}}
  %0 = "hipdnn.batchnorm_inference"(%a, %b, %c, %d, %e)
    : (tensor<8xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>)
    -> tensor<8xf16>
  return
}

func.func @variance_epsilon(%a: tensor<2x8x4x4xf16>, %b: tensor<1x8x1x1xf32>, %c: tensor<1x8x1x1xf32>, %d: tensor<1x8x1x1xf32>, %e: tensor<1x8x1x1xf32>, %f: tensor<1x8x1x1xf32>) {
  // expected-error @below {{'hipdnn.batchnorm_inference_variance_ext' op expected one element in 'epsilon', but found shape 1x8x1x1}}
  %0 = "hipdnn.batchnorm_inference_variance_ext"(%a, %b, %c, %d, %e, %f)
    : (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>)
    -> tensor<2x8x4x4xf16>
  return
}

func.func @variance_missing(%a: tensor<2x8x4x4xf16>, %b: tensor<1x8x1x1xf32>, %c: tensor<1x8x1x1xf32>, %d: tensor<1x8x1x1xf32>, %e: tensor<1x8x1x1xf32>) {
  // expected-error @below {{'hipdnn.batchnorm_inference_variance_ext' op expected 6 operands, but found 5}}
  // expected-note @below {{requires operand 'epsilon'}}
  %0 = "hipdnn.batchnorm_inference_variance_ext"(%a, %b, %c, %d, %e)
    : (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>)
    -> tensor<2x8x4x4xf16>
  return
}

func.func @training_statistics(%a: tensor<2x8x4x4xf16>, %b: tensor<1x8x1x1xf32>, %c: tensor<1x8x1x1xf32>, %d: tensor<1xf32>) {
  // expected-error @below {{'hipdnn.batchnorm' op expected shape 1x8x1x1 of 'mean', but found 1x4x1x1}}
  %0:2 = "hipdnn.batchnorm"(%a, %b, %c, %d)
    : (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1xf32>)
    -> (tensor<2x8x4x4xf16>, tensor<1x4x1x1xf32>)
  return
}

func.func @training_running(%a: tensor<2x8x4x4xf16>, %b: tensor<1x8x1x1xf32>, %c: tensor<1x8x1x1xf32>, %d: tensor<1xf32>, %e: tensor<1x8x1x1xf32>) {
  // expected-error @below {{'hipdnn.batchnorm' op expected all or none of 'prev_running_mean', 'prev_running_variance' and 'momentum'}}
  %0 = "hipdnn.batchnorm"(%a, %b, %c, %d, %e)
    : (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1xf32>, tensor<1x8x1x1xf32>)
    -> tensor<2x8x4x4xf16>
  return
}

func.func @training_next(%a: tensor<2x8x4x4xf16>, %b: tensor<1x8x1x1xf32>, %c: tensor<1x8x1x1xf32>, %d: tensor<1xf32>) {
  // expected-error @below {{'hipdnn.batchnorm' op yields running statistics, but takes none}}
  %0:4 = "hipdnn.batchnorm"(%a, %b, %c, %d)
    : (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1xf32>)
    -> (tensor<2x8x4x4xf16>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xf32>)
  return
}

func.func @layernorm_scale(%a: tensor<2x5x8xf16>, %b: tensor<1x1x7xf16>, %c: tensor<1x1x7xf16>, %d: tensor<1xf32>) {
  // expected-error @below {{'hipdnn.layernorm' op 'scale' (1x1x7) does not broadcast to 'x' (2x5x8)}}
  %0 = "hipdnn.layernorm"(%a, %b, %c, %d)
    : (tensor<2x5x8xf16>, tensor<1x1x7xf16>, tensor<1x1x7xf16>, tensor<1xf32>)
    -> tensor<2x5x8xf16>
  return
}

func.func @layernorm_bias(%a: tensor<2x5x8xf16>, %b: tensor<1x1x8xf16>, %c: tensor<8xf16>, %d: tensor<1xf32>) {
  // expected-error @below {{'hipdnn.layernorm' op expected shape 1x1x8 of 'bias', but found 8}}
  %0 = "hipdnn.layernorm"(%a, %b, %c, %d)
    : (tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<8xf16>, tensor<1xf32>)
    -> tensor<2x5x8xf16>
  return
}

func.func @layernorm_count(%a: tensor<2x5x8xf16>, %b: tensor<1x1x8xf16>, %c: tensor<1x1x8xf16>, %d: tensor<1xf32>) {
  // expected-error @below {{'hipdnn.layernorm' op expected 'normalized_dim_count' in [1, 3], but found 4}}
  %0 = "hipdnn.layernorm"(%a, %b, %c, %d) {normalized_dim_count = 4 : i64}
    : (tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<1x1x8xf16>, tensor<1xf32>)
    -> tensor<2x5x8xf16>
  return
}

func.func @layernorm_reach(%a: tensor<2x5x8xf16>, %b: tensor<1x5x8xf16>, %c: tensor<1x5x8xf16>, %d: tensor<1xf32>) {
  // expected-error @below {{'hipdnn.layernorm' op 'scale' (1x5x8) reaches beyond the last 1 dimensions}}
  %0 = "hipdnn.layernorm"(%a, %b, %c, %d) {normalized_dim_count = 1 : i64}
    : (tensor<2x5x8xf16>, tensor<1x5x8xf16>, tensor<1x5x8xf16>, tensor<1xf32>)
    -> tensor<2x5x8xf16>
  return
}

func.func @layernorm_phase(%a: tensor<2x5x8xf16>, %b: tensor<1x1x8xf16>, %c: tensor<1x1x8xf16>, %d: tensor<1xf32>) {
  // expected-error @below {{'hipdnn.layernorm' op result 'mean' belongs to forward phase TRAINING}}
  %0:2 = "hipdnn.layernorm"(%a, %b, %c, %d)
    : (tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<1x1x8xf16>, tensor<1xf32>)
    -> (tensor<2x5x8xf16>, tensor<2x5x1xf32>)
  return
}

func.func @layernorm_statistics(%a: tensor<2x5x8xf16>, %b: tensor<1x1x8xf16>, %c: tensor<1x1x8xf16>, %d: tensor<1xf32>) {
  // expected-error @below {{'hipdnn.layernorm' op expected shape 2x5x1 of 'mean', but found 2x5}}
  %0:2 = "hipdnn.layernorm"(%a, %b, %c, %d) {forward_phase = "TRAINING"}
    : (tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<1x1x8xf16>, tensor<1xf32>)
    -> (tensor<2x5x8xf16>, tensor<2x5xf32>)
  return
}

func.func @rmsnorm_scale(%a: tensor<2x5x8xf16>, %b: tensor<3x1x8xf16>, %c: tensor<1xf32>) {
  // expected-error @below {{'hipdnn.rmsnorm' op 'scale' (3x1x8) does not broadcast to 'x' (2x5x8)}}
  %0 = "hipdnn.rmsnorm"(%a, %b, %c)
    : (tensor<2x5x8xf16>, tensor<3x1x8xf16>, tensor<1xf32>)
    -> tensor<2x5x8xf16>
  return
}

func.func @rmsnorm_bias(%a: tensor<2x5x8xf16>, %b: tensor<1x1x8xf16>, %c: tensor<1xf32>, %d: tensor<1x5x8xf16>) {
  // expected-error @below {{'hipdnn.rmsnorm' op expected shape 1x1x8 of 'bias', but found 1x5x8}}
  %0 = "hipdnn.rmsnorm"(%a, %b, %c, %d)
    : (tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<1xf32>, tensor<1x5x8xf16>)
    -> tensor<2x5x8xf16>
  return
}

func.func @rmsnorm_statistics(%a: tensor<2x5x8xf16>, %b: tensor<1x1x8xf16>, %c: tensor<1xf32>) {
  // expected-error @below {{'hipdnn.rmsnorm' op result 'inv_rms' belongs to forward phase TRAINING}}
  %0:2 = "hipdnn.rmsnorm"(%a, %b, %c)
    : (tensor<2x5x8xf16>, tensor<1x1x8xf16>, tensor<1xf32>)
    -> (tensor<2x5x8xf16>, tensor<2x5x1xf32>)
  return
}
