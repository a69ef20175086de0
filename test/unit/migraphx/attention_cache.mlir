// A cache of keys: a length and an offset for each sequence and head, and a sliding window.
func.func @attention_cache(%q: !migraphx.shaped<2x2x4x8xf32, 64x32x8x1>, %k: !migraphx.shaped<2x2x8x16xf32, 256x128x16x1>, %v: !migraphx.shaped<2x2x16x8xf32, 256x128x8x1>, %lengths: !migraphx.shaped<2x2xsi32, 2x1>, %offsets: !migraphx.shaped<2x2xi32, 2x1>) -> (!migraphx.shaped<2x2x4x8xf32, 64x32x8x1>, !migraphx.shaped<2x2x4x8xf32, 64x32x8x1>, !migraphx.shaped<2x2x4xf32, 8x4x1>) {
  %low = migraphx.literal(dense<6> : tensor<2x2xsi32>) : <2x2xsi32, 2x1>
  %high = migraphx.literal(dense<9> : tensor<2x2xsi32>) : <2x2xsi32, 2x1>
  %length = migraphx.clip %lengths, %low, %high : <2x2xsi32, 2x1>, <2x2xsi32, 2x1>, <2x2xsi32, 2x1> -> <2x2xsi32, 2x1>
  %offset = migraphx.relu %offsets : <2x2xi32, 2x1> -> <2x2xi32, 2x1>
  %0 = migraphx.attention %q, %k, %v current_seq_len(%length : !migraphx.shaped<2x2xsi32, 2x1>) prefix_offset(%offset : !migraphx.shaped<2x2xi32, 2x1>) {
  } features = "kvcache|causal|prefix_offset" : <2x2x4x8xf32, 64x32x8x1>, <2x2x8x16xf32, 256x128x16x1>, <2x2x16x8xf32, 256x128x8x1> -> <2x2x4x8xf32, 64x32x8x1>
  %1:2 = migraphx.attention %q, %k, %v current_seq_len(%length : !migraphx.shaped<2x2xsi32, 2x1>) {
  } features = "kvcache|sliding_window" slidingWindowSize = 7 : <2x2x4x8xf32, 64x32x8x1>, <2x2x8x16xf32, 256x128x16x1>, <2x2x16x8xf32, 256x128x8x1> -> <2x2x4x8xf32, 64x32x8x1>, !migraphx.shaped<2x2x4xf32, 8x4x1>
  return %0, %1#0, %1#1 : !migraphx.shaped<2x2x4x8xf32, 64x32x8x1>, !migraphx.shaped<2x2x4x8xf32, 64x32x8x1>, !migraphx.shaped<2x2x4xf32, 8x4x1>
}
