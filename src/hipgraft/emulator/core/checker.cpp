// See checker.h.
#include "checker.h"

#include <sys/mman.h>

Site site_of(const Wave& w, Access access) {
  return {w.E->ops[w.pc - 1].address, w.wg->epoch, w.wg->number + 1, (u16)w.number,
          (u16)(access == ATOMIC)};
}

namespace {

// Whether two accesses are unordered.
bool unordered(const Site& a, const Site& b) {
  if (!a.group || !b.group || (a.atomic && b.atomic)) return false;
  if (a.group != b.group) return true;
  return a.wave != b.wave && a.epoch == b.epoch;
}

}  // namespace

void add_finding(Checker& checker, const Finding& finding) {
  for (int i = 0; i < checker.count; i++) {
    const Finding& known = checker.findings[i];
    bool same = known.instruction == finding.instruction &&
                known.other_instruction == finding.other_instruction;
    bool swapped = known.instruction == finding.other_instruction &&
                   known.other_instruction == finding.instruction;
    if (known.kind == finding.kind && (same || swapped)) return;
  }
  if (checker.count < checker.most) checker.findings[checker.count++] = finding;
}

Finding make_finding(const Wave& w, FindingKind kind, int lane, u64 address, u32 size,
                     const Site* other) {
  Finding finding = {};
  finding.kind = kind;
  finding.lane = lane;
  finding.size = size;
  finding.address = address;
  finding.instruction = w.E->ops[w.pc - 1].address;
  finding.workgroup = w.wg->number;
  finding.wave = w.number;
  if (other) {
    finding.other_instruction = other->address;
    finding.other_workgroup = other->group - 1;
    finding.other_wave = other->wave;
  }
  return finding;
}

Cell* new_cells(const Region& region) {
  // Most pages are never touched, so the mapping may be larger than the machine's memory.
  void* made = mmap(nullptr, (region.high - region.low) * sizeof(Cell), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) abort();  // past the address space
  return (Cell*)made;
}

void free_cells(Cell* cells, const Region& region) {
  if (cells) munmap(cells, (region.high - region.low) * sizeof(Cell));
}

void observe(Wave& w, Cell* cells, int lane, const u8* place, u64 address, u32 size, Access access,
             bool in_lds) {
  Checker& checker = *w.E->checker;
  const Site site = site_of(w, access);
  // The HSA runtime allows loads and stores at any address, also of LDS, but not atomics.
  u32 unit = access != ATOMIC ? 1 : size;
  if ((checker.checks & CHECK_ALIGNMENT) && address % unit)
    add_finding(checker, make_finding(w, FINDING_MISALIGNED, lane, address, size, nullptr));
  const Site* racing = nullptr;
  for (u32 i = 0; i < size; i++) {
    Cell& cell = cells[i];
    if (!racing && unordered(cell.writer, site)) racing = &cell.writer;
    if (access == LOAD) {
      if (!cell.first_reader.group) cell.first_reader = site;
      cell.last_reader = site;
      continue;
    }
    if (!racing && unordered(cell.first_reader, site)) racing = &cell.first_reader;
    if (!racing && unordered(cell.last_reader, site)) racing = &cell.last_reader;
  }
  if (racing && (checker.checks & CHECK_RACES)) {
    FindingKind kind = in_lds ? FINDING_LDS_RACE : FINDING_GLOBAL_RACE;
    Finding found = make_finding(w, kind, lane, address, size, racing);
    if (access != STORE) {
      add_finding(checker, found);
    } else if (checker.pending_count < kMostPending) {
      Pending& pending = checker.pending[checker.pending_count++];
      pending.finding = found;
      pending.place = place;
      memcpy(pending.before, place, size);
    }
  }
  if (access == LOAD) return;
  for (u32 i = 0; i < size; i++) cells[i].writer = site;
}

void settle_pending(Checker& checker) {
  for (int i = 0; i < checker.pending_count; i++) {
    const Pending& pending = checker.pending[i];
    if (memcmp(pending.place, pending.before, pending.finding.size))
      add_finding(checker, pending.finding);
  }
  checker.pending_count = 0;
}

void add_order_finding(const Machine& machine, u64 address) {
  for (int i = 0; i < machine.region_count; i++) {
    const Region& region = machine.regions[i];
    const Cell* cells = machine.checker->regions[i];
    if (!cells || address < region.low || address >= region.high) continue;
    const Site& writer = cells[address - region.low].writer;
    if (!writer.group || writer.atomic) continue;
    Finding finding = {};
    finding.kind = FINDING_ORDER;
    finding.size = 1;
    finding.address = address;
    finding.instruction = writer.address;
    finding.workgroup = writer.group - 1;
    finding.wave = writer.wave;
    return add_finding(*machine.checker, finding);
  }
}
