// RUN: hipgraft-opt %s --split-input-file --verify-diagnostics --migraphx-iree-gen

// MIGraphX leaves the architecture empty and gives it as an option.

// expected-error @+1 {{'func.func' op has no architecture: expected option 'arch', or attribute 'rock.arch' or 'arch' of the function or module}}
func.func @none(%x: !migraphx.shaped<64xf32, 1>) -> !migraphx.shaped<64xf32, 1> attributes {rock.arch = ""} {
  %0 = migraphx.abs %x : <64xf32, 1> -> <64xf32, 1>
  return %0 : !migraphx.shaped<64xf32, 1>
}

// -----

func.func @one(%x: !migraphx.shaped<64xf32, 1>) -> !migraphx.shaped<64xf32, 1> attributes {arch = "gfx942"} {
  return %x : !migraphx.shaped<64xf32, 1>
}
// expected-error @+1 {{'func.func' op is for 'gfx1100', but another kernel of the module is for 'gfx942'}}
func.func @other(%x: !migraphx.shaped<64xf32, 1>) -> !migraphx.shaped<64xf32, 1> attributes {arch = "gfx1100"} {
  return %x : !migraphx.shaped<64xf32, 1>
}
