// A session's provider: claims, compilation, compiled models.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "answers.h"
#include "computes.h"
#include "factory.h"
#include "ort.h"

namespace hipgraft::ort {

// The answer about a graph of the session.
struct Reported {
  std::string graph, body_of, answer;  // its name, whose body it is, the path of the details
  bool operator==(const Reported &other) const {
    return graph == other.graph && body_of == other.body_of && answer == other.answer;
  }
};

struct Provider : ProviderTable {
  Provider(Factory &factory, const OfferedDevice &device, std::string architecture,
           Options options, Options session, const Logger *logger);

  void get_capability(const Graph *graph, GraphSupport *support);
  void compile(const Graph **graphs, const Node **fused, size_t count, NodeCompute **computes,
               Node **contexts);

  const std::shared_ptr<Factory> factory;  // sessions may outlive the registration
  const OfferedDevice &device;
  const std::string architecture;
  const Options options, session;  // the provider's options, and all entries of the session
  const Logger *const logger;
  std::string compatibility_text;
  std::unique_ptr<Error> refusal;  // why the session cannot be made, or null

 private:
  void claim(const Graph *graph, const std::vector<const Node *> &nodes, GraphSupport *support);
  const Group &group_of(const Node *fused);
  Bound bind(const Node *fused, const Group &group);
  std::unique_ptr<Compute> make_compute(Bound bound);
  // Makes the compute of a group of this session, which may get more shapes.
  std::unique_ptr<Compute> make_growing(Bound bound, const Group &group);
  // Recompiles a node of a compiled model that does not fit this device and release.
  const Group &recompile(const Graph *graph, const Node *node, const std::string &why);
  std::string option(const char *name) const;
  bool writes_contexts() const;
  void tell(const Answer &answer, const Graph *graph);
  void write_report(const std::string &path) const;
  void warn(const std::string &text);

  std::deque<Group> groups_;  // groups of the latest graph first
  std::vector<std::string> kept_;  // constants that bodies of the session's graph read
  std::string nested_;        // the summaries of subgraphs
  std::vector<Reported> reported_;
  std::string told_;          // the last warning
};

// Returns the provider's options among a session's entries. Fails for an unknown option.
Options provider_options(const Options &session);

}  // namespace hipgraft::ort
