module {
  func.func @main() attributes {hipgraft.results = () -> ()} {
    return
  }
}