// fp8 of every format as operand and result; mxfp4 with scales of both kinds.
func.func @small(%a: !migraphx.shaped<4x8xf8E4M3FN, 8x1>, %b: !migraphx.shaped<8x4xf8E4M3FN, 1x8>, %c: !migraphx.shaped<4x4xf8E5M2FNUZ, 4x1>, %d: !migraphx.shaped<4x16xf4E2M1FN, 16x1>, %e: !migraphx.shaped<16x4xf4E2M1FN, 1x16>, %s: !migraphx.shaped<4x16xf8E8M0FNU, 16x1>, %t: !migraphx.shaped<16x4xf8E8M0FNU, 1x16>, %i: !migraphx.shaped<1x2x4x4xf8E4M3FNUZ, 32x16x4x1>, %k: !migraphx.shaped<2x2x3x3xf8E4M3FNUZ, 18x9x3x1>) -> (!migraphx.shaped<4x4xf32, 4x1>, !migraphx.shaped<4x4xf8E5M2, 4x1>, !migraphx.shaped<4x4xf32, 4x1>, !migraphx.shaped<1x2x2x2xf32, 8x4x2x1>) {
  %0 = migraphx.quant_dot %a, %b : <4x8xf8E4M3FN, 8x1>, <8x4xf8E4M3FN, 1x8> -> <4x4xf32, 4x1>
  %1 = migraphx.convert %c : <4x4xf8E5M2FNUZ, 4x1> to <4x4xf32, 4x1>
  %2 = migraphx.mul %0, %1 : <4x4xf32, 4x1>, <4x4xf32, 4x1> -> <4x4xf32, 4x1>
  %3 = migraphx.convert %2 : <4x4xf32, 4x1> to <4x4xf8E5M2, 4x1>
  %4 = migraphx.quant_dot %d scaled by %s, %e scaled by %t : <4x16xf4E2M1FN, 16x1> scaled by !migraphx.shaped<4x16xf8E8M0FNU, 16x1>, <16x4xf4E2M1FN, 1x16> scaled by !migraphx.shaped<16x4xf8E8M0FNU, 1x16> -> <4x4xf32, 4x1>
  %5 = migraphx.quant_convolution %i, %k {dilation = [1, 1], group = 1 : i64, padding = [0, 0, 0, 0], stride = [1, 1]} : <1x2x4x4xf8E4M3FNUZ, 32x16x4x1>, <2x2x3x3xf8E4M3FNUZ, 18x9x3x1> -> <1x2x2x2xf32, 8x4x2x1>
  return %2, %3, %4, %5 : !migraphx.shaped<4x4xf32, 4x1>, !migraphx.shaped<4x4xf8E5M2, 4x1>, !migraphx.shaped<4x4xf32, 4x1>, !migraphx.shaped<1x2x2x2xf32, 8x4x2x1>
}
