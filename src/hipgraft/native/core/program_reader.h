// Reads the programs of a bundle's header, and checks that their calls stay within their memory.
#pragma once

#include <set>
#include <vector>

#include "bundle.h"

namespace hipgraft {

// Reads a variant of a program whose architecture, buffers and kernels have been read.
Variant read_variant(const Json &fields, hipgraft_program &program);

// Reads a program.
//
// sections: size of each section in bytes. code: receives the sections that contain the program's
// code.
hipgraft_program read_program(const Json &fields, const std::vector<uint64_t> &sections,
                              std::set<size_t> &code);

}  // namespace hipgraft
