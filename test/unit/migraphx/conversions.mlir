// Conversions from integers of both signs and all small floats, each to some of the wider kinds.
func.func @conversions(%x0: !migraphx.shaped<3x8xsi8, 8x1>, %x1: !migraphx.shaped<3x8xui32, 8x1>, %x2: !migraphx.shaped<3x8xbf16, 8x1>, %x3: !migraphx.shaped<3x8xf8E5M2FNUZ, 8x1>, %x4: !migraphx.shaped<3x8xf8E8M0FNU, 8x1>, %x5: !migraphx.shaped<3x8xf4E2M1FN, 8x1>, %x6: !migraphx.shaped<3x8xui4, 8x1>) -> (!migraphx.shaped<3x8xf32, 8x1>, !migraphx.shaped<3x8xf8E5M2, 8x1>, !migraphx.shaped<3x8xui8, 8x1>, !migraphx.shaped<3x8xsi16, 8x1>, !migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x8xf8E4M3FNUZ, 8x1>, !migraphx.shaped<3x8xsi64, 8x1>, !migraphx.shaped<3x8xsi8, 8x1>, !migraphx.shaped<3x8xui32, 8x1>, !migraphx.shaped<3x8xf32, 8x1>, !migraphx.shaped<3x8xf8E5M2, 8x1>, !migraphx.shaped<3x8xui8, 8x1>, !migraphx.shaped<3x8xsi16, 8x1>, !migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x8xf8E4M3FNUZ, 8x1>, !migraphx.shaped<3x8xsi64, 8x1>, !migraphx.shaped<3x8xbf16, 8x1>, !migraphx.shaped<3x8xsi8, 8x1>, !migraphx.shaped<3x8xui32, 8x1>, !migraphx.shaped<3x8xf32, 8x1>, !migraphx.shaped<3x8xf8E5M2, 8x1>, !migraphx.shaped<3x8xui8, 8x1>, !migraphx.shaped<3x8xsi16, 8x1>) {
  %y0 = migraphx.convert %x0 : <3x8xsi8, 8x1> to <3x8xf32, 8x1>
  %y1 = migraphx.convert %x0 : <3x8xsi8, 8x1> to <3x8xf8E5M2, 8x1>
  %y2 = migraphx.convert %x0 : <3x8xsi8, 8x1> to <3x8xui8, 8x1>
  %y3 = migraphx.convert %x0 : <3x8xsi8, 8x1> to <3x8xsi16, 8x1>
  %y4 = migraphx.convert %x1 : <3x8xui32, 8x1> to <3x8xf16, 8x1>
  %y5 = migraphx.convert %x1 : <3x8xui32, 8x1> to <3x8xf8E4M3FNUZ, 8x1>
  %y6 = migraphx.convert %x1 : <3x8xui32, 8x1> to <3x8xsi64, 8x1>
  %y7 = migraphx.convert %x2 : <3x8xbf16, 8x1> to <3x8xsi8, 8x1>
  %a2 = migraphx.abs %x2 : <3x8xbf16, 8x1> -> <3x8xbf16, 8x1>
  %y8 = migraphx.convert %a2 : <3x8xbf16, 8x1> to <3x8xui32, 8x1>
  %y9 = migraphx.convert %x3 : <3x8xf8E5M2FNUZ, 8x1> to <3x8xf32, 8x1>
  %y10 = migraphx.convert %x3 : <3x8xf8E5M2FNUZ, 8x1> to <3x8xf8E5M2, 8x1>
  %a3 = migraphx.abs %x3 : <3x8xf8E5M2FNUZ, 8x1> -> <3x8xf8E5M2FNUZ, 8x1>
  %y11 = migraphx.convert %a3 : <3x8xf8E5M2FNUZ, 8x1> to <3x8xui8, 8x1>
  %y12 = migraphx.convert %x3 : <3x8xf8E5M2FNUZ, 8x1> to <3x8xsi16, 8x1>
  %y13 = migraphx.convert %x4 : <3x8xf8E8M0FNU, 8x1> to <3x8xf16, 8x1>
  %y14 = migraphx.convert %x4 : <3x8xf8E8M0FNU, 8x1> to <3x8xf8E4M3FNUZ, 8x1>
  %y15 = migraphx.convert %x4 : <3x8xf8E8M0FNU, 8x1> to <3x8xsi64, 8x1>
  %y16 = migraphx.convert %x5 : <3x8xf4E2M1FN, 8x1> to <3x8xbf16, 8x1>
  %y17 = migraphx.convert %x5 : <3x8xf4E2M1FN, 8x1> to <3x8xsi8, 8x1>
  %a5 = migraphx.abs %x5 : <3x8xf4E2M1FN, 8x1> -> <3x8xf4E2M1FN, 8x1>
  %y18 = migraphx.convert %a5 : <3x8xf4E2M1FN, 8x1> to <3x8xui32, 8x1>
  %y19 = migraphx.convert %x6 : <3x8xui4, 8x1> to <3x8xf32, 8x1>
  %y20 = migraphx.convert %x6 : <3x8xui4, 8x1> to <3x8xf8E5M2, 8x1>
  %y21 = migraphx.convert %x6 : <3x8xui4, 8x1> to <3x8xui8, 8x1>
  %y22 = migraphx.convert %x6 : <3x8xui4, 8x1> to <3x8xsi16, 8x1>
  return %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12, %y13, %y14, %y15, %y16, %y17, %y18, %y19, %y20, %y21, %y22 : !migraphx.shaped<3x8xf32, 8x1>, !migraphx.shaped<3x8xf8E5M2, 8x1>, !migraphx.shaped<3x8xui8, 8x1>, !migraphx.shaped<3x8xsi16, 8x1>, !migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x8xf8E4M3FNUZ, 8x1>, !migraphx.shaped<3x8xsi64, 8x1>, !migraphx.shaped<3x8xsi8, 8x1>, !migraphx.shaped<3x8xui32, 8x1>, !migraphx.shaped<3x8xf32, 8x1>, !migraphx.shaped<3x8xf8E5M2, 8x1>, !migraphx.shaped<3x8xui8, 8x1>, !migraphx.shaped<3x8xsi16, 8x1>, !migraphx.shaped<3x8xf16, 8x1>, !migraphx.shaped<3x8xf8E4M3FNUZ, 8x1>, !migraphx.shaped<3x8xsi64, 8x1>, !migraphx.shaped<3x8xbf16, 8x1>, !migraphx.shaped<3x8xsi8, 8x1>, !migraphx.shaped<3x8xui32, 8x1>, !migraphx.shaped<3x8xf32, 8x1>, !migraphx.shaped<3x8xf8E5M2, 8x1>, !migraphx.shaped<3x8xui8, 8x1>, !migraphx.shaped<3x8xsi16, 8x1>
}
