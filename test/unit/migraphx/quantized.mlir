// int8 with zero points; unpacked 4-bit weights of both signs; results clamp.
func.func @quantized(%x: !migraphx.shaped<1x4x8xf32, 32x8x1>, %w: !migraphx.shaped<1x8x2xsi8, 16x2x1>, %u: !migraphx.shaped<1x8x2xui8, 16x2x1>, %zero: !migraphx.shaped<1xsi8, 0>, %scale: !migraphx.shaped<1x1x4xf32, 4x4x1>) -> (!migraphx.shaped<1x4x4xf32, 16x4x1>, !migraphx.shaped<1x4x4xsi8, 16x4x1>, !migraphx.shaped<1x8x4xf32, 32x4x1>) {
  %step = migraphx.literal(dense<0.031> : tensor<1xf32>) : <1xf32, 0>
  %q = migraphx.quantizelinear %x, %step, %zero : <1x4x8xf32, 32x8x1>, <1xf32, 0>, !migraphx.shaped<1xsi8, 0> -> <1x4x8xsi8, 32x8x1>
  %s4 = migraphx.unpack %w {axis = 2 : i64} : <1x8x2xsi8, 16x2x1> -> <1x8x4xsi8, 32x4x1>
  %u4 = migraphx.unpack %u {axis = 2 : i64} : <1x8x2xui8, 16x2x1> -> <1x8x4xui8, 32x4x1>
  %0 = migraphx.quant_dot %q, %s4 : <1x4x8xsi8, 32x8x1>, <1x8x4xsi8, 32x4x1> -> <1x4x4xsi32, 16x4x1>
  %1 = migraphx.dequantizelinear %0, %scale : <1x4x4xsi32, 16x4x1>, <1x1x4xf32, 4x4x1> -> <1x4x4xf32, 16x4x1>
  %2 = migraphx.quantizelinear %1, %step : <1x4x4xf32, 16x4x1>, <1xf32, 0> -> <1x4x4xsi8, 16x4x1>
  %bias = migraphx.literal(dense<8> : tensor<1xui8>) : <1xui8, 0>
  %3 = migraphx.dequantizelinear %u4, %scale, %bias : <1x8x4xui8, 32x4x1>, <1x1x4xf32, 4x4x1>, !migraphx.shaped<1xui8, 0> -> <1x8x4xf32, 32x4x1>
  return %1, %2, %3 : !migraphx.shaped<1x4x4xf32, 16x4x1>, !migraphx.shaped<1x4x4xsi8, 16x4x1>, !migraphx.shaped<1x8x4xf32, 32x4x1>
}
