module{func.func@rank(%arg0: !migraphx.shaped<2x4xf32, 4x1>) -> !migraphx.shaped<4xf32, 1> {
 %0 = "ast"(%arg0) {ou = [4]} : (!migraphx.shaped<2x4xf32, 4x1>) -> !d<4x>
  }
}
