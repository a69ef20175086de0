
"builtin.module"() ({
  "test.symbol"() {sym_name = @a::@b} : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "f"}> ({
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
