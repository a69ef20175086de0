// Arithmetic on elements of 4 bits, which keeps the low ones or rounds, also on the way to wider
// elements.
func.func @packed_arithmetic(%s: !migraphx.shaped<4x6xsi4, 6x1>, %t: !migraphx.shaped<4x6xsi4, 6x1>, %u: !migraphx.shaped<4x6xui4, 6x1>, %w: !migraphx.shaped<4x6xui4, 6x1>, %i: !migraphx.shaped<4x6xi4, 6x1>, %f: !migraphx.shaped<4x6xf4E2M1FN, 6x1>, %g: !migraphx.shaped<4x6xf4E2M1FN, 6x1>, %x: !migraphx.shaped<4x6xf32, 6x1>, %n: !migraphx.shaped<4x6xsi32, 6x1>) -> (!migraphx.shaped<4x6xsi4, 6x1>, !migraphx.shaped<4x6xsi4, 6x1>, !migraphx.shaped<4x6xf32, 6x1>, !migraphx.shaped<4x6xui4, 6x1>, !migraphx.shaped<4x6xf32, 6x1>, !migraphx.shaped<4x6xsi4, 6x1>, !migraphx.shaped<4x6xsi32, 6x1>, !migraphx.shaped<4x1xsi4, 1x1>, !migraphx.shaped<4x6xsi4, 6x1>, !migraphx.shaped<4x6xf4E2M1FN, 6x1>, !migraphx.shaped<4x6xf4E2M1FN, 6x1>, !migraphx.shaped<4x6xf4E2M1FN, 6x1>, !migraphx.shaped<4x6xf32, 6x1>, !migraphx.shaped<4x6xsi32, 6x1>) {
  %0 = migraphx.add %s, %t : <4x6xsi4, 6x1>, <4x6xsi4, 6x1> -> <4x6xsi4, 6x1>
  %1 = migraphx.mul %0, %t : <4x6xsi4, 6x1>, <4x6xsi4, 6x1> -> <4x6xsi4, 6x1>
  %2 = migraphx.convert %1 : <4x6xsi4, 6x1> to <4x6xf32, 6x1>
  %3 = migraphx.sub %u, %w : <4x6xui4, 6x1>, <4x6xui4, 6x1> -> <4x6xui4, 6x1>
  %4 = migraphx.mul %u, %w : <4x6xui4, 6x1>, <4x6xui4, 6x1> -> <4x6xui4, 6x1>
  %5 = migraphx.convert %4 : <4x6xui4, 6x1> to <4x6xf32, 6x1>
  %6 = migraphx.neg %s : <4x6xsi4, 6x1> -> <4x6xsi4, 6x1>
  %7 = migraphx.add %i, %i : <4x6xi4, 6x1>, <4x6xi4, 6x1> -> <4x6xi4, 6x1>
  %8 = migraphx.convert %7 : <4x6xi4, 6x1> to <4x6xsi32, 6x1>
  %9 = migraphx.reduce_sum %s {axes = [1]} : <4x6xsi4, 6x1> -> <4x1xsi4, 1x1>
  %10 = migraphx.greater %s, %t : <4x6xsi4, 6x1>, <4x6xsi4, 6x1> -> <4x6xsi4, 6x1>
  %11 = migraphx.add %f, %g : <4x6xf4E2M1FN, 6x1>, <4x6xf4E2M1FN, 6x1> -> <4x6xf4E2M1FN, 6x1>
  %12 = migraphx.mul %11, %g : <4x6xf4E2M1FN, 6x1>, <4x6xf4E2M1FN, 6x1> -> <4x6xf4E2M1FN, 6x1>
  %13 = migraphx.abs %f : <4x6xf4E2M1FN, 6x1> -> <4x6xf4E2M1FN, 6x1>
  %14 = migraphx.sqrt %13 : <4x6xf4E2M1FN, 6x1> -> <4x6xf4E2M1FN, 6x1>
  %15 = migraphx.convert %x : <4x6xf32, 6x1> to <4x6xf4E2M1FN, 6x1>
  %16 = migraphx.convert %15 : <4x6xf4E2M1FN, 6x1> to <4x6xf32, 6x1>
  %17 = migraphx.convert %n : <4x6xsi32, 6x1> to <4x6xsi4, 6x1>
  %18 = migraphx.convert %17 : <4x6xsi4, 6x1> to <4x6xsi32, 6x1>
  return %0, %1, %2, %3, %5, %6, %8, %9, %10, %11, %12, %14, %16, %18 : !migraphx.shaped<4x6xsi4, 6x1>, !migraphx.shaped<4x6xsi4, 6x1>, !migraphx.shaped<4x6xf32, 6x1>, !migraphx.shaped<4x6xui4, 6x1>, !migraphx.shaped<4x6xf32, 6x1>, !migraphx.shaped<4x6xsi4, 6x1>, !migraphx.shaped<4x6xsi32, 6x1>, !migraphx.shaped<4x1xsi4, 1x1>, !migraphx.shaped<4x6xsi4, 6x1>, !migraphx.shaped<4x6xf4E2M1FN, 6x1>, !migraphx.shaped<4x6xf4E2M1FN, 6x1>, !migraphx.shaped<4x6xf4E2M1FN, 6x1>, !migraphx.shaped<4x6xf32, 6x1>, !migraphx.shaped<4x6xsi32, 6x1>
}
