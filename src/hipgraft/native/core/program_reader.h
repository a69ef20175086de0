// Reads the programs of a bundle's header, and checks that their calls stay in their memory.
#pragma once

#include <set>
#include <vector>

#include "bundle.h"

namespace hipgraft {

// Reads a variant of a program, of which the architecture, buffers and kernels are known.
Variant read_variant(const Json &fields, hipgraft_program &program);

// Reads a program.
//
// sections: bytes of each section. code: gets the sections that hold the program's code.
hipgraft_program read_program(const Json &fields, const std::vector<uint64_t> &sections,
                              std::set<size_t> &code);

}  // namespace hipgraft
