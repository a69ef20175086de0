// The model of `timing.py`, which has the reasons: it traces workgroups on copies of the memory
// that the arguments point to, and a compute unit replays them.
#include "timing.h"

#include <math.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <fstream>

namespace {

constexpr double kLine = 128;
constexpr size_t kPage = 4096;
constexpr uint64_t kBudget = 3000000;
constexpr uint64_t kMostRecorded = 3, kMostNeighbours = 20, kFewestNeighbours = 4;
constexpr uint64_t kRounds = 4, kMostWorkgroups = 32, kLdsGranule = 512;

uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }
uint64_t divide_up(uint64_t value, uint64_t by) { return (value + by - 1) / by; }

const std::vector<Variation>& variations() {
  static const auto* all = [] {
    std::ifstream file(state().settings.text("model"), std::ios::binary);
    std::string data((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    auto* read = new std::vector<Variation>(data.size() / sizeof(Variation));
    memcpy(read->data(), data.data(), read->size() * sizeof(Variation));
    return read;
  }();
  return *all;
}

// The distribution of a launch over the chip.
struct Occupancy {
  uint64_t groups, per_unit, slots, units, dies;
  double active;
};

Occupancy occupancy_of(const DecodedKernel& kernel, const Launch& launch) {
  const Settings& chip = state().settings;
  uint64_t simds = chip.number("simds"), registers = chip.number("registers");
  uint64_t units = chip.number("units"), dies = chip.number("dies", 1);
  uint64_t groups = (uint64_t)launch.grid[0] * launch.grid[1] * launch.grid[2];
  uint64_t items = (uint64_t)launch.block[0] * launch.block[1] * launch.block[2];
  uint64_t waves = divide_up(items, launch.wave_size);
  uint64_t taken = round_up(kernel.vector_registers, chip.number("granule"));
  uint64_t of_simd =
      std::min<uint64_t>(chip.number("waves"), std::max<uint64_t>(registers / taken, 1));
  uint64_t slots = of_simd * simds / waves;
  if (launch.lds_bytes)
    slots = std::min<uint64_t>(
        slots, (uint64_t)chip.number("lds_of_unit") / round_up(launch.lds_bytes, kLdsGranule));
  uint64_t per_unit = divide_up(divide_up(groups, dies), units / dies);
  slots = std::min({std::max<uint64_t>(slots, 1), kMostWorkgroups, per_unit});
  return {groups, per_unit, slots, units, dies, std::min((double)groups / per_unit, (double)units)};
}

ComputeUnit unit_of(const Variation& variation, double active, double scale) {
  ComputeUnit unit = variation.unit;
  unit.far_line_cycles = kLine / std::min(variation.far_bytes / active, variation.l2_bytes);
  unit.share_scale = scale;
  return unit;
}

// The argument segment, with pointers to copies of the original allocations.
struct Copies {
  std::vector<uint8_t> segment;
  std::vector<std::vector<uint8_t>> memory;
  std::vector<Region> regions;
  size_t footprint = 0;
};

Copies copy_memory(const KernelCall& call, const std::vector<uint8_t>& segment) {
  State& all = state();
  Lock lock(all.mutex);
  Copies copies;
  copies.segment = segment;
  std::map<uintptr_t, uintptr_t> moved;  // start of an allocation to that of its copy
  const DecodedKernel& kernel = *call.function->kernel;
  const auto* arguments = call.function->module->at<DecodedArgument>(kernel.arguments);
  for (uint32_t i = 0; i < kernel.argument_count; i++) {
    if (!arguments[i].is_pointer) continue;
    uint8_t* place = copies.segment.data() + arguments[i].offset;
    uintptr_t address;
    memcpy(&address, place, sizeof address);
    const Allocation* found = find_memory(all, (void*)address);
    if (!found) continue;
    uintptr_t& copy = moved[found->address];
    if (!copy) {
      copies.memory.emplace_back(found->size + kPage);
      copy = round_up((uintptr_t)copies.memory.back().data(), kPage);
      memcpy((void*)copy, (void*)found->address, found->size);
      copies.regions.push_back({copy, copy + found->size, 1, 0});
      copies.footprint += found->size;
    }
    address = copy + (address - found->address);
    memcpy(place, &address, sizeof address);
  }
  const Module& module = *call.function->module;
  uint64_t image = (uint64_t)module.image, start = (uint64_t)copies.segment.data();
  copies.regions.push_back({image, image + module.header().image_size, 0, 0});
  copies.regions.push_back({start, start + copies.segment.size(), 0, 0});
  return copies;
}

class Estimate {
 public:
  Estimate(const KernelCall& call, Launch launch, const std::vector<uint8_t>& segment)
      : function_(*call.function),
        launch_(launch),
        copies_(copy_memory(call, segment)),
        occupancy_(occupancy_of(*function_.kernel, launch)) {
    launch_.kernel_arguments = (uint64_t)copies_.segment.data();
    uint64_t packet = launch.dispatch_packet;
    copies_.regions.push_back({packet, packet + 64, 0, 0});
    launch_.poison = 0;
  }

  double seconds() {
    TraceStatistics statistics;
    void* trace = run({0}, 1, &statistics);
    if (!trace) return 0;
    core()->free_trace(trace);
    const Occupancy& at = occupancy_;
    uint64_t instructions = std::max<uint64_t>(statistics.instructions, 1);
    uint64_t most = std::min(at.slots, kMostRecorded);
    uint64_t recorded = std::max<uint64_t>(1, std::min(most, kBudget / 4 / instructions));
    uint64_t of_die = divide_up(at.groups, at.dies);
    uint64_t round = std::min(of_die, at.slots * (at.units / at.dies));
    uint64_t neighbours =
        std::max<uint64_t>(1, std::min({round, kMostNeighbours, kBudget / instructions}));
    std::vector<uint64_t> groups;
    for (uint64_t i = 0; i < recorded; i++) groups.push_back(i * at.units % at.groups);
    for (uint64_t i = 0; i < neighbours; i++) groups.push_back(i * at.dies);
    trace = run(groups, recorded, &statistics);
    if (!trace) return 0;
    double scale = sharing(statistics, neighbours, round), sum = 0;
    for (const Variation& variation : variations())
      sum += std::max(replay(trace, variation, scale), memory_seconds(variation));
    core()->free_trace(trace);
    return sum / variations().size() + state().settings.number("kernel_seconds");
  }

 private:
  void* run(std::vector<uint64_t> groups, int recorded, TraceStatistics* statistics) {
    char error[1024] = "";
    ComputeUnit unit = unit_of(variations()[0], occupancy_.active, 1);
    const auto* costs = function_.module->at<Cost>(function_.kernel->costs);
    void* trace = core()->trace(function_.machine, &launch_, copies_.regions.data(),
                                copies_.regions.size(), costs, &unit, groups.data(), groups.size(),
                                recorded, statistics, error, sizeof error);
    if (!trace) complain("no time of kernel '" + function_.name + "': " + error);
    return trace;
  }

  static double sharing(const TraceStatistics& statistics, uint64_t neighbours, uint64_t round) {
    double unique = statistics.unique_lines, half = statistics.unique_lines_of_half;
    if (neighbours < kFewestNeighbours || !half || round <= neighbours) return 1;
    double power = log(unique / half) / log((double)neighbours / (neighbours / 2));
    power = std::min(std::max(power, 0.0), 1.0);
    double of_round = unique * pow((double)round / neighbours, power);
    return std::max((unique / neighbours) / (of_round / round), 1.0);
  }

  double replay(void* trace, const Variation& variation, double scale) {
    ComputeUnit unit = unit_of(variation, occupancy_.active, scale);
    const int slots = occupancy_.slots, most = std::min(occupancy_.per_unit, slots * kRounds);
    Replayed whole, first;
    core()->replay(trace, &unit, most, slots, &whole);
    double cycles = whole.cycles;
    if (occupancy_.per_unit > (uint64_t)most) {
      core()->replay(trace, &unit, slots, slots, &first);
      double slope = (whole.cycles - first.cycles) / (most - slots);
      cycles += slope * (occupancy_.per_unit - most);
    }
    return cycles / variation.clock;
  }

  double memory_seconds(const Variation& variation) {
    bool fits = copies_.footprint < state().settings.number("far_size");
    return copies_.footprint / (fits ? variation.far_bandwidth : variation.memory_bandwidth);
  }

  const Function& function_;
  Launch launch_;
  Copies copies_;
  Occupancy occupancy_;
};

}  // namespace

bool is_modelled() {
  static const bool found = !state().settings.text("model").empty();
  return found;
}

void add_kernel_time(const KernelCall& call, Launch launch, const std::vector<uint8_t>& segment) {
  if (!is_modelled()) return;
  // Launches of the same shape take equally long; only one thread launches at a time.
  typedef std::array<uint32_t, 7> Shape;
  static auto* known = new std::map<std::pair<const DecodedKernel*, Shape>, double>;
  Shape shape = {launch.grid[0],  launch.grid[1],  launch.grid[2],  launch.block[0],
                 launch.block[1], launch.block[2], launch.lds_bytes};
  auto [found, is_new] = known->insert({{call.function->kernel, shape}, 0});
  if (is_new) found->second = Estimate(call, launch, segment).seconds();
  thread().seconds += state().settings.number("gap_seconds") + found->second;
}

void add_memory_time(size_t bytes) {
  if (!is_modelled()) return;
  thread().seconds += state().settings.number("gap_seconds") +
                      state().settings.number("kernel_seconds") +
                      bytes / variations()[0].memory_bandwidth;
}
