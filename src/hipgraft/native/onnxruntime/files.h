// Small files of requests, answers and compiled models.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hipgraft::ort {

// Reads a whole file; fails if it has more than `most` bytes.
std::string contents(const std::string &path, size_t most);

// Writes a file of these pieces.
void write_file(const std::string &path, const std::vector<std::string_view> &pieces);

// Makes a folder and its parents.
void make_folders(const std::string &path);

// The folder of a file.
std::string folder_of(const std::string &path);

}  // namespace hipgraft::ort
