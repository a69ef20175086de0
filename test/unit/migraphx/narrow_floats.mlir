// Operations on floats of 16 and 8 bits, each of which rounds its result.
func.func @narrow_floats(%x0: !migraphx.shaped<3x8xf16, 8x1>, %y0: !migraphx.shaped<3x8xf16, 8x1>, %x1: !migraphx.shaped<3x8xbf16, 8x1>, %y1: !migraphx.shaped<3x8xbf16, 8x1>, %x2: !migraphx.shaped<3x8xf8E4M3FN, 8x1>, %y2: !migraphx.shaped<3x8xf8E4M3FN, 8x1>, %x3: !migraphx.shaped<3x8xf8E5M2FNUZ, 8x1>, %y3: !migraphx.shaped<3x8xf8E5M2FNUZ, 8x1>) -> (!migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x1xf16, 1x1>, !migraphx.shaped<3x8xbf16, 8x1>, !migraphx.shaped<3x8xbf16, 8x1>, !migraphx.shaped<3x8xbf16, 8x1>, !migraphx.shaped<3x8xbf16, 8x1>, !migraphx.shaped<3x8xbf16, 8x1>, !migraphx.shaped<3x8xbf16, 8x1>, !migraphx.shaped<3x8xbf16, 8x1>, !migraphx.shaped<3x1xbf16, 1x1>, !migraphx.shaped<3x8xf8E4M3FN, 8x1>, !migraphx.shaped<3x8xf8E4M3FN, 8x1>, !migraphx.shaped<3x8xf8E4M3FN, 8x1>, !migraphx.shaped<3x8xf8E4M3FN, 8x1>, !migraphx.shaped<3x8xf8E4M3FN, 8x1>, !migraphx.shaped<3x8xf8E4M3FN, 8x1>, !migraphx.shaped<3x8xf8E4M3FN, 8x1>, !migraphx.shaped<3x1xf8E4M3FN, 1x1>, !migraphx.shaped<3x8xf8E5M2FNUZ, 8x1>, !migraphx.shaped<3x8xf8E5M2FNUZ, 8x1>, !migraphx.shaped<3x8xf8E5M2FNUZ, 8x1>, !migraphx.shaped<3x8xf8E5M2FNUZ, 8x1>, !migraphx.shaped<3x8xf8E5M2FNUZ, 8x1>, !migraphx.shaped<3x8xf8E5M2FNUZ, 8x1>, !migraphx.shaped<3x8xf8E5M2FNUZ, 8x1>, !migraphx.shaped<3x1xf8E5M2FNUZ, 1x1>) {
  %s0 = migraphx.add %x0, %y0 : <3x8xf16, 8x1>, <3x8xf16, 8x1> -> <3x8xf16, 8x1>
  %m0 = migraphx.mul %s0, %y0 : <3x8xf16, 8x1>, <3x8xf16, 8x1> -> <3x8xf16, 8x1>
  %d0 = migraphx.div %x0, %y0 : <3x8xf16, 8x1>, <3x8xf16, 8x1> -> <3x8xf16, 8x1>
  %e0 = migraphx.exp %x0 : <3x8xf16, 8x1> -> <3x8xf16, 8x1>
  %g0 = migraphx.greater %x0, %y0 : <3x8xf16, 8x1>, <3x8xf16, 8x1> -> <3x8xf16, 8x1>
  %t0 = migraphx.tanh %s0 : <3x8xf16, 8x1> -> <3x8xf16, 8x1>
  %k0 = migraphx.max %t0, %x0 : <3x8xf16, 8x1>, <3x8xf16, 8x1> -> <3x8xf16, 8x1>
  %r0 = migraphx.reduce_sum %x0 {axes = [1]} : <3x8xf16, 8x1> -> <3x1xf16, 1x1>
  %s1 = migraphx.add %x1, %y1 : <3x8xbf16, 8x1>, <3x8xbf16, 8x1> -> <3x8xbf16, 8x1>
  %m1 = migraphx.mul %s1, %y1 : <3x8xbf16, 8x1>, <3x8xbf16, 8x1> -> <3x8xbf16, 8x1>
  %d1 = migraphx.div %x1, %y1 : <3x8xbf16, 8x1>, <3x8xbf16, 8x1> -> <3x8xbf16, 8x1>
  %e1 = migraphx.exp %x1 : <3x8xbf16, 8x1> -> <3x8xbf16, 8x1>
  %g1 = migraphx.greater %x1, %y1 : <3x8xbf16, 8x1>, <3x8xbf16, 8x1> -> <3x8xbf16, 8x1>
  %t1 = migraphx.tanh %s1 : <3x8xbf16, 8x1> -> <3x8xbf16, 8x1>
  %k1 = migraphx.max %t1, %x1 : <3x8xbf16, 8x1>, <3x8xbf16, 8x1> -> <3x8xbf16, 8x1>
  %r1 = migraphx.reduce_sum %x1 {axes = [1]} : <3x8xbf16, 8x1> -> <3x1xbf16, 1x1>
  %s2 = migraphx.add %x2, %y2 : <3x8xf8E4M3FN, 8x1>, <3x8xf8E4M3FN, 8x1> -> <3x8xf8E4M3FN, 8x1>
  %m2 = migraphx.mul %s2, %y2 : <3x8xf8E4M3FN, 8x1>, <3x8xf8E4M3FN, 8x1> -> <3x8xf8E4M3FN, 8x1>
  %d2 = migraphx.div %x2, %y2 : <3x8xf8E4M3FN, 8x1>, <3x8xf8E4M3FN, 8x1> -> <3x8xf8E4M3FN, 8x1>
  %e2 = migraphx.exp %x2 : <3x8xf8E4M3FN, 8x1> -> <3x8xf8E4M3FN, 8x1>
  %g2 = migraphx.greater %x2, %y2 : <3x8xf8E4M3FN, 8x1>, <3x8xf8E4M3FN, 8x1> -> <3x8xf8E4M3FN, 8x1>
  %t2 = migraphx.tanh %s2 : <3x8xf8E4M3FN, 8x1> -> <3x8xf8E4M3FN, 8x1>
  %k2 = migraphx.max %t2, %x2 : <3x8xf8E4M3FN, 8x1>, <3x8xf8E4M3FN, 8x1> -> <3x8xf8E4M3FN, 8x1>
  %r2 = migraphx.reduce_sum %x2 {axes = [1]} : <3x8xf8E4M3FN, 8x1> -> <3x1xf8E4M3FN, 1x1>
  %s3 = migraphx.add %x3, %y3 : <3x8xf8E5M2FNUZ, 8x1>, <3x8xf8E5M2FNUZ, 8x1> -> <3x8xf8E5M2FNUZ, 8x1>
  %m3 = migraphx.mul %s3, %y3 : <3x8xf8E5M2FNUZ, 8x1>, <3x8xf8E5M2FNUZ, 8x1> -> <3x8xf8E5M2FNUZ, 8x1>
  %d3 = migraphx.div %x3, %y3 : <3x8xf8E5M2FNUZ, 8x1>, <3x8xf8E5M2FNUZ, 8x1> -> <3x8xf8E5M2FNUZ, 8x1>
  %e3 = migraphx.exp %x3 : <3x8xf8E5M2FNUZ, 8x1> -> <3x8xf8E5M2FNUZ, 8x1>
  %g3 = migraphx.greater %x3, %y3 : <3x8xf8E5M2FNUZ, 8x1>, <3x8xf8E5M2FNUZ, 8x1> -> <3x8xf8E5M2FNUZ, 8x1>
  %t3 = migraphx.tanh %s3 : <3x8xf8E5M2FNUZ, 8x1> -> <3x8xf8E5M2FNUZ, 8x1>
  %k3 = migraphx.max %t3, %x3 : <3x8xf8E5M2FNUZ, 8x1>, <3x8xf8E5M2FNUZ, 8x1> -> <3x8xf8E5M2FNUZ, 8x1>
  %r3 = migraphx.reduce_sum %x3 {axes = [1]} : <3x8xf8E5M2FNUZ, 8x1> -> <3x1xf8E5M2FNUZ, 1x1>
  return %s0, %m0, %d0, %e0, %g0, %t0, %k0, %r0, %s1, %m1, %d1, %e1, %g1, %t1, %k1, %r1, %s2, %m2, %d2, %e2, %g2, %t2, %k2, %r2, %s3, %m3, %d3, %e3, %g3, %t3, %k3, %r3 : !migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x1xf16, 1x1>, !migraphx.shaped<3x8xbf16, 8x1>, !migraphx.shaped<3x8xbf16, 8x1>, !migraphx.shaped<3x8xbf16, 8x1>, !migraphx.shaped<3x8xbf16, 8x1>, !migraphx.shaped<3x8xbf16, 8x1>, !migraphx.shaped<3x8xbf16, 8x1>, !migraphx.shaped<3x8xbf16, 8x1>, !migraphx.shaped<3x1xbf16, 1x1>, !migraphx.shaped<3x8xf8E4M3FN, 8x1>, !migraphx.shaped<3x8xf8E4M3FN, 8x1>, !migraphx.shaped<3x8xf8E4M3FN, 8x1>, !migraphx.shaped<3x8xf8E4M3FN, 8x1>, !migraphx.shaped<3x8xf8E4M3FN, 8x1>, !migraphx.shaped<3x8xf8E4M3FN, 8x1>, !migraphx.shaped<3x8xf8E4M3FN, 8x1>, !migraphx.shaped<3x1xf8E4M3FN, 1x1>, !migraphx.shaped<3x8xf8E5M2FNUZ, 8x1>, !migraphx.shaped<3x8xf8E5M2FNUZ, 8x1>, !migraphx.shaped<3x8xf8E5M2FNUZ, 8x1>, !migraphx.shaped<3x8xf8E5M2FNUZ, 8x1>, !migraphx.shaped<3x8xf8E5M2FNUZ, 8x1>, !migraphx.shaped<3x8xf8E5M2FNUZ, 8x1>, !migraphx.shaped<3x8xf8E5M2FNUZ, 8x1>, !migraphx.shaped<3x1xf8E5M2FNUZ, 1x1>
}
