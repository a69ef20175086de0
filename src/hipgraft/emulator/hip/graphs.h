// Graphs of tasks, made by capture or node by node.
#pragma once

#include "modules.h"

struct Node {
  Graph* graph;
  Task task;
  std::vector<Node*> after;
  Node* original = nullptr;  // the graph from which this one was cloned
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
};

// Returns the nodes in topological order; the nodes of a child graph replace its node.
struct ExecutableGraph {
  struct Step {
    const Node* node;
    Task task;
  };
  std::vector<Step> steps;
  unsigned long long flags = 0;
};

struct Graphs {
  std::set<Graph*> graphs;
  std::set<ExecutableGraph*> executables;
};
Graphs& graphs();

// The caller holds the lock.
bool is_node(const Node* node);
Node* add_node(Graph& graph, Task task, const std::vector<Node*>& after);
Graph* clone_graph(const Graph& graph);
void destroy_graph(Graph* graph);

// Runs `body(all)` with the lock held, if all handles are good.
template <class Body>
hipError_t with_graph(Graph* graph, Body body) {
  State& all = state();
  Lock lock(all.mutex);
  if (all.start) return all.start;
  return graph && graphs().graphs.count(graph) ? body(all) : hipErrorInvalidValue;
}

template <class Body>
hipError_t with_node(Node* node, Body body) {
  State& all = state();
  Lock lock(all.mutex);
  return node && is_node(node) ? body(all) : hipErrorInvalidValue;
}

// Calls `body(all, task)` with the task that an executable graph runs for a node.
template <class Body>
hipError_t with_step(ExecutableGraph* executable, Node* node, Body body) {
  State& all = state();
  Lock lock(all.mutex);
  if (!executable || !graphs().executables.count(executable)) return hipErrorInvalidValue;
  for (ExecutableGraph::Step& step : executable->steps)
    if (step.node == node) return body(all, step.task);
  return hipErrorInvalidValue;
}
