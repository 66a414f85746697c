// Branches, barriers, counters, and what changes no state. RDNA2 ISA 12.5 and 4.4, RDNA3 ISA 16.5 and 4.4,
// RDNA4 ISA 16.5 and 4.4 (SOPP).
#include "tests/rdna/lane_loops.h"
#include "tests/rdna/workgroup.h"

namespace lockstep::rdna {

namespace {

void jump(Wave& w, const Instruction& i) { w.next += i.immediate; }

template <bool on>
void jump_scc(Wave& w, const Instruction& i) {
  if (w.scc == on) jump(w, i);
}
template <bool on>
void jump_vcc(Wave& w, const Instruction& i) {
  if ((w.s[vcc] != 0) == on) jump(w, i);
}
template <bool on>
void jump_exec(Wave& w, const Instruction& i) {
  if ((w.active() != 0) == on) jump(w, i);
}

void end(Wave& w, const Instruction&) { w.ended = true; }
void nothing(Wave&, const Instruction&) {}

// Where the instruction after this one is.
void program_counter(Wave& w, const Instruction& i) { w.set_scalar64(i.scalar_target, i.address + 4); }

void arrive(Wave& w) {
  if (w.active() != w.started) throw Fault("comes to a barrier with lanes that went another way");
  for (const Pending& p : w.pending[lds_count]) {
    if (p.lds) throw Fault("comes to a barrier before its LDS operations are done");
  }
}
void barrier(Wave& w, const Instruction&) {
  arrive(w);
  w.at_barrier = true;
}
// RDNA4 tells that it came, and waits later.
void signal(Wave& w, const Instruction&) {
  arrive(w);
  if (w.signaled) throw Fault("signals a barrier twice");
  w.signaled = true;
}
void wait_at_barrier(Wave& w, const Instruction&) {
  if (!w.signaled) throw Fault("waits at a barrier that it did not signal");
  w.signaled = false;
  w.at_barrier = true;
}

// Counters that the text names: immediate is which, a bit each; 8 bits a counter of the rest are the limits.
void wait(Wave& w, const Instruction& i) {
  for (int c = 0; c < counters; ++c) {
    if (i.immediate >> c & 1)
      wait_for(w, static_cast<Counter>(c), static_cast<uint32_t>(i.immediate2) >> 8 * c & 255);
  }
}

constexpr Entry branch(const char* name, Run run) {
  return {.mnemonic = name, .run = run, .form = Form::branch, .kind = Kind::branch};
}
constexpr Entry waits(const char* name, int which) {
  return {.mnemonic = name, .run = wait, .form = Form::wait, .data = which, .kind = Kind::wait};
}
// Hints, and S_WAITCNT_DEPCTR: hazards of the pipeline have no part in what is computed here.
constexpr Entry hint(const char* name) {
  return {.mnemonic = name, .run = nothing, .form = Form::nothing, .kind = Kind::other};
}
constexpr Entry meet(const char* name, Run run) {
  return {.mnemonic = name, .run = run, .form = Form::nothing, .kind = Kind::barrier};
}

constexpr int loads = 1 << load_count, stores = 1 << store_count, local = 1 << lds_count,
              scalars = 1 << scalar_count;

const Entry entries[] = {
    branch("s_branch", jump),
    {.mnemonic = "s_cbranch_scc0",
     .run = jump_scc<false>,
     .form = Form::branch,
     .kind = Kind::branch,
     .reads_scc = true},
    {.mnemonic = "s_cbranch_scc1",
     .run = jump_scc<true>,
     .form = Form::branch,
     .kind = Kind::branch,
     .reads_scc = true},
    {.mnemonic = "s_cbranch_vccz",
     .run = jump_vcc<false>,
     .form = Form::branch,
     .kind = Kind::branch,
     .reads_vcc = true},
    {.mnemonic = "s_cbranch_vccnz",
     .run = jump_vcc<true>,
     .form = Form::branch,
     .kind = Kind::branch,
     .reads_vcc = true},
    branch("s_cbranch_execz", jump_exec<false>),
    branch("s_cbranch_execnz", jump_exec<true>),
    {.mnemonic = "s_endpgm", .run = end, .form = Form::nothing, .kind = Kind::other},
    {.mnemonic = "s_getpc_b64", .run = program_counter, .form = Form::scalar, .kind = Kind::scalar},
    meet("s_barrier", barrier),
    meet("s_barrier_signal", signal),
    meet("s_barrier_wait", wait_at_barrier),
    waits("s_waitcnt", 0),
    waits("s_waitcnt_vscnt", stores),
    waits("s_wait_loadcnt", loads),
    waits("s_wait_storecnt", stores),
    waits("s_wait_dscnt", local),
    waits("s_wait_kmcnt", scalars),
    waits("s_wait_loadcnt_dscnt", loads | local),
    waits("s_wait_storecnt_dscnt", stores | local),
    hint("s_waitcnt_depctr"),
    hint("s_nop"),
    hint("s_clause"),
    hint("s_delay_alu"),
    hint("s_inst_prefetch"),
    hint("s_set_inst_prefetch_distance"),
    hint("s_sendmsg"),
};

}  // namespace

std::span<const Entry> control_entries() { return entries; }

}  // namespace lockstep::rdna
