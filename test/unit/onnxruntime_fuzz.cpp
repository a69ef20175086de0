// Reads answers of the helper, each damaged in many ways. Each must give a sound answer or an error
// of the library. Built with sanitizers, together with the provider's sources.
//
//     onnxruntime_fuzz SEED ROUNDS NODES FILE

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "answers.h"

int main(int, char **argv) {
  std::mt19937 draw(static_cast<unsigned>(atoi(argv[1])));
  size_t nodes = strtoul(argv[3], nullptr, 10);
  std::ifstream file(argv[4], std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  int sound = 0, refused = 0;
  for (int round = 0; round < atoi(argv[2]); ++round) {
    std::string text = whole;
    for (unsigned changes = draw() % 4; changes && !text.empty(); --changes) {
      size_t at = draw() % text.size();
      if (draw() % 3)
        text[at] = text[draw() % text.size()];
      else
        text.erase(at, draw() % 8);
    }
    try {
      auto answer = hipgraft::ort::read_answer(text, nodes);
      for (auto &group : answer.groups)
        for (size_t node : group.nodes)
          if (node >= nodes) return 3;
      ++sound;
    } catch (const hipgraft::Error &) {
      ++refused;
    }
  }
  printf("%d %d\n", sound, refused);
}
