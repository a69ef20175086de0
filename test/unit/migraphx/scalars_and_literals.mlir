// Results without dimensions, of one element, constant, and in another order of strides; unit
// dimensions, holes and broadcasts in memory; bytes unpacked through views.
func.func @scalars_and_literals(%z: !migraphx.shaped<f32>, %o: !migraphx.shaped<1xf32, 0>, %p: !migraphx.shaped<4x3x5xf32, 1x0x6>, %q: !migraphx.shaped<4x3x5xf32, 15x5x1>, %u: !migraphx.shaped<3x1x3xf32, 1x3x3>, %i: !migraphx.shaped<8x2xi8, 2x1>) -> (!migraphx.shaped<f32>, !migraphx.shaped<1xf32, 1>, !migraphx.shaped<4x3x5xf32, 1x20x4>, !migraphx.shaped<3x1x3xf32, 1x3x3>, !migraphx.shaped<4xui8, 1>, !migraphx.shaped<2x3xsi8, 3x1>, !migraphx.shaped<2x16xi8, 16x1>, !migraphx.shaped<3x2x16xi8, 32x16x1>) {
  %a = migraphx.neg %z : <f32> -> <f32>
  %b = migraphx.mul %o, %o : <1xf32, 0>, <1xf32, 0> -> <1xf32, 1>
  %c = migraphx.sub %p, %q : <4x3x5xf32, 1x0x6>, <4x3x5xf32, 15x5x1> -> <4x3x5xf32, 1x20x4>
  %d = migraphx.abs %u : <3x1x3xf32, 1x3x3> -> <3x1x3xf32, 1x3x3>
  %l = migraphx.literal(dense<[250, 1, 2, 255]> : tensor<4xui8>) : <4xui8, 1>
  %n = migraphx.literal(dense<-7> : tensor<2x3xsi8>) : <2x3xsi8, 3x1>
  %t = migraphx.transpose %i {permutation = [1, 0]} : <8x2xi8, 2x1> -> <2x8xi8, 1x2>
  %h = migraphx.unpack %t {axis = 1 : i64} : <2x8xi8, 1x2> -> <2x16xi8, 16x1>
  %w = migraphx.multibroadcast %h {out_lens = [3, 2, 16]} : <2x16xi8, 16x1> -> <3x2x16xi8, 0x16x1>
  %v = migraphx.add %w, %w : <3x2x16xi8, 0x16x1>, <3x2x16xi8, 0x16x1> -> <3x2x16xi8, 32x16x1>
  return %a, %b, %c, %d, %l, %n, %h, %v : !migraphx.shaped<f32>, !migraphx.shaped<1xf32, 1>, !migraphx.shaped<4x3x5xf32, 1x20x4>, !migraphx.shaped<3x1x3xf32, 1x3x3>, !migraphx.shaped<4xui8, 1>, !migraphx.shaped<2x3xsi8, 3x1>, !migraphx.shaped<2x16xi8, 16x1>, !migraphx.shaped<3x2x16xi8, 32x16x1>
}
