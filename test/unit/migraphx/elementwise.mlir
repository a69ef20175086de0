// Every elementwise operation of floats; operands broadcast from extents of 1 and lower ranks.
func.func @f32(%x: !migraphx.shaped<2x4x8xf32, 32x8x1>, %y: !migraphx.shaped<4x1xf32, 1x1>, %one: !migraphx.shaped<1xf32, 0>) -> (!migraphx.shaped<2x4x8xf32, 32x8x1>, !migraphx.shaped<2x4x8xf32, 32x8x1>) {
  %0 = migraphx.abs %x : <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %1 = migraphx.multibroadcast %one {out_lens = [2, 4, 8]} : <1xf32, 0> -> <2x4x8xf32, 0x0x0>
  %tenth = migraphx.literal(dense<0.1> : tensor<1xf32>) : <1xf32, 0>
  %2 = migraphx.add %0, %tenth : <2x4x8xf32, 32x8x1>, <1xf32, 0> -> <2x4x8xf32, 32x8x1>
  %3 = migraphx.log %2 : <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %4 = migraphx.sqrt %2 : <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %5 = migraphx.rsqrt %2 : <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %6 = migraphx.recip %2 : <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %7 = migraphx.pow %2, %y : <2x4x8xf32, 32x8x1>, <4x1xf32, 1x1> -> <2x4x8xf32, 32x8x1>
  %8 = migraphx.mul %3, %4 : <2x4x8xf32, 32x8x1>, <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %9 = migraphx.sub %8, %5 : <2x4x8xf32, 32x8x1>, <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %10 = migraphx.add %9, %6 : <2x4x8xf32, 32x8x1>, <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %11 = migraphx.add %10, %7 : <2x4x8xf32, 32x8x1>, <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %12 = migraphx.erf %x : <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %13 = migraphx.tanh %x : <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %14 = migraphx.sigmoid %x : <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %15 = migraphx.exp %x : <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %16 = migraphx.floor %x : <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %17 = migraphx.ceil %x : <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %18 = migraphx.neg %x : <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %19 = migraphx.relu %18 : <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %20 = migraphx.div %12, %2 : <2x4x8xf32, 32x8x1>, <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %21 = migraphx.max %13, %14 : <2x4x8xf32, 32x8x1>, <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %22 = migraphx.mul %20, %21 : <2x4x8xf32, 32x8x1>, <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %23 = migraphx.sub %15, %16 : <2x4x8xf32, 32x8x1>, <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %24 = migraphx.add %17, %19 : <2x4x8xf32, 32x8x1>, <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %25 = migraphx.mul %23, %24 : <2x4x8xf32, 32x8x1>, <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %26 = migraphx.add %22, %25 : <2x4x8xf32, 32x8x1>, <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %27 = migraphx.neg %2 : <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %28 = migraphx.clip %11, %27, %1 : <2x4x8xf32, 32x8x1>, <2x4x8xf32, 32x8x1>, <2x4x8xf32, 0x0x0> -> <2x4x8xf32, 32x8x1>
  %29 = migraphx.greater %11, %x : <2x4x8xf32, 32x8x1>, <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  %30 = migraphx.convert %29 {target_type = 4 : i64} : <2x4x8xf32, 32x8x1> to <2x4x8xsi8, 32x8x1>
  %31 = migraphx.where %30, %28, %x : <2x4x8xsi8, 32x8x1>, <2x4x8xf32, 32x8x1>, <2x4x8xf32, 32x8x1> -> <2x4x8xf32, 32x8x1>
  return %31, %26 : !migraphx.shaped<2x4x8xf32, 32x8x1>, !migraphx.shaped<2x4x8xf32, 32x8x1>
}
