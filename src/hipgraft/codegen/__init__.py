"""From a graph to code objects and the schedule that runs them."""
