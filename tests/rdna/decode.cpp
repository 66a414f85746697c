// From the text of an instruction to what runs it.
#include <cstring>

#include "tests/rdna/lane_loops.h"
#include "tests/rdna/program.h"
#include "tests/rdna/text.h"

namespace lockstep::rdna {

namespace {

// Fills in one instruction; every operand and modifier must find its place.
class Reader {
 public:
  Reader(const Chip& chip, const Line& line, const Entry& entry) : chip_(chip), line_(line), entry_(entry) {}

  Instruction read() {
    i_.run = entry_.run;
    const bool lane_by_lane =
        entry_.form == Form::vector || entry_.form == Form::accumulate || entry_.form == Form::vector_mask;
    i_.moves = entry_.moves || (lane_by_lane && !entry_.whole);
    i_.whole = entry_.whole;
    i_.kind = static_cast<int>(kind());
    read_operands();
    // In a pair the mask is VCC and not told.
    if (line_.mnemonic == "v_cndmask_b32" && i_.sources == 2) again("vcc_lo");
    if (entry_.form != Form::nothing) {
      for (const auto& [name, value] : line_.modifiers) read_modifier(name, value);
    }
    if (line_.encoding == "dpp" || line_.encoding == "sdwa") wrap();
    if (i_.scalar_targets && line_.mnemonic.starts_with("v_mad_")) throw Fault("its carry is not known");
    note_registers();
    return i_;
  }

 private:
  Kind kind() const {
    const bool scalar = line_.mnemonic.starts_with("s_") || line_.mnemonic.starts_with("v_s_");
    return entry_.kind == Kind::vector && scalar ? Kind::scalar : entry_.kind;
  }

  void read_operands() {
    switch (entry_.form) {
      case Form::vector: target(), sources(); break;
      case Form::accumulate: target(), sources(), again(line_.operands[0]); break;
      case Form::mask: scalar_target(), sources(); break;
      case Form::exec_mask: i_.scalar_target = exec, i_.scalar_targets = 1, sources(); break;
      case Form::vector_mask: target(), scalar_target(), sources(); break;
      case Form::scalar: scalar_target(), sources(); break;
      case Form::scalar_update: scalar_target(), sources(), again(line_.operands[0]); break;
      case Form::scalar_compare: sources(); break;
      case Form::branch: i_.immediate = static_cast<int16_t>(number(next())); break;
      case Form::wait: read_counters(); break;
      case Form::nothing: at_ = line_.operands.size(); break;
      case Form::lds_load:
      case Form::load: target(), sources(); break;
      case Form::lds_store:
      case Form::flat_store:
      case Form::store: sources(); break;
      case Form::lds_return: target(), sources(); break;
      case Form::scalar_load: scalar_target(), read_scalar_load(); break;
    }
    if (at_ != line_.operands.size()) throw Fault("it has more operands than are known");
  }

  const std::string& next() {
    if (at_ >= line_.operands.size()) throw Fault("an operand is missing");
    return line_.operands[at_++];
  }

  void target() {
    const Source r = source(next(), 0);
    if (r.kind != Source::vector) throw Fault("its target is no vector register");
    i_.target = r.reg;
    i_.targets = r.words;
  }
  void scalar_target() {
    const Source r = source(next(), 0);
    if (r.kind == Source::vector || (r.kind == Source::constant && line_.operands[at_ - 1] != "null"))
      throw Fault("its target is no scalar register");
    i_.scalar_target = r.kind == Source::constant ? null : r.reg;
    i_.scalar_targets = r.kind == Source::constant ? 0 : r.words;
  }
  void sources() {
    while (at_ < line_.operands.size()) {
      if (line_.operands[at_] == "off") {
        ++at_;
      } else {
        again(line_.operands[at_++]);
      }
    }
  }
  void again(const std::string& text) {
    if (i_.sources == 4) throw Fault("it has more sources than are known");
    i_.source[i_.sources] = source(text, std::min(i_.sources, 2));
    ++i_.sources;
  }

  // "v[1:2]", "-|s4|", "0x1f8", "sext(v1)".
  Source source(std::string text, int place) {
    Source s;
    if (text.starts_with("sext(")) {
      i_.source_signed[place] = true;
      text = text.substr(5, text.size() - 6);
    }
    const auto marks_register = [](char c) {
      return c == '|' || c == 'v' || c == 's' || c == 'e' || c == 'm';
    };
    if (text.size() > 1 && text[0] == '-' && marks_register(text[1])) {
      s.negative = true;
      text.erase(0, 1);
    }
    if (text.size() > 2 && text[0] == '|') {
      s.absolute = true;
      text = text.substr(1, text.size() - 2);
    }
    if (named_register(text, s)) return s;
    if (text.size() > 1 && (text[0] == 'v' || text[0] == 's') && (text[1] == '[' || isdigit(text[1]))) {
      s.kind = text[0] == 'v' ? Source::vector : Source::scalar;
      numbers(text.substr(1), s);
      return s;
    }
    s.kind = Source::constant;
    s.value = text == "null" ? 0 : constant_bits(text, entry_.bits[place], entry_.is_signed);
    s.words = entry_.bits[place] == 64 ? 2 : 1;
    return s;
  }
  static bool named_register(const std::string& text, Source& s) {
    s.kind = Source::scalar;
    if (text == "vcc_lo") {
      s.reg = vcc;
    } else if (text == "vcc_hi") {
      s.reg = vcc + 1;
    } else if (text == "vcc") {
      s.reg = vcc;
      s.words = 2;
    } else if (text == "exec_lo") {
      s.reg = exec;
    } else if (text == "m0") {
      s.reg = m0;
    } else if (text.starts_with("ttmp")) {
      s.reg = static_cast<uint16_t>(first_ttmp + number(text.substr(4)));
    } else {
      s.kind = Source::none;
      return false;
    }
    return true;
  }
  // "12" or "[12:15]".
  static void numbers(const std::string& text, Source& s) {
    if (text[0] != '[') {
      s.reg = static_cast<uint16_t>(number(text));
      return;
    }
    const size_t colon = text.find(':');
    s.reg = static_cast<uint16_t>(number(text.substr(1, colon - 1)));
    s.words = static_cast<uint8_t>(number(text.substr(colon + 1, text.size() - colon - 2)) - s.reg + 1);
  }

  // The base, then an offset that is a number or a register.
  void read_scalar_load() {
    again(next());
    const std::string& offset = next();
    if (offset == "null") return;
    if (offset[0] == 's' || offset[0] == 't' || offset[0] == 'm') {
      again(offset);
    } else {
      i_.immediate = static_cast<int32_t>(number(offset));
    }
  }

  // "vmcnt(1)" and "lgkmcnt(0)" side by side, or one number for the counters that the mnemonic names.
  void read_counters() {
    std::vector<std::string> parts;
    for (const std::string& text : line_.operands) parts.push_back(text);
    for (const auto& [name, value] : line_.modifiers) parts.push_back(name);
    at_ = line_.operands.size();
    if (entry_.data) {
      const std::string& last = parts.back();  // "null, 0x0" on RDNA3
      const int local = 1 << lds_count;
      const bool both = entry_.data & local && entry_.data != local;  // the LDS's in the low 6 bits
      limit(both ? entry_.data & ~local : entry_.data, both ? number(last) >> 8 : number(last));
      if (both) limit(local, number(last) & 63);
      return;
    }
    for (const std::string& part : parts) {
      const size_t open = part.find('(');
      const std::string name = part.substr(0, open);
      const int which = name == "vmcnt" ? 1 << load_count : name == "lgkmcnt" ? 1 << lds_count : 0;
      if (open == std::string::npos || (which == 0 && name != "expcnt"))
        throw Fault("the counter '" + part + "' is not known");
      limit(which, number(part.substr(open + 1, part.size() - open - 2)));
    }
  }
  void limit(int which, long most) {
    for (int c = 0; c < counters; ++c) {
      if (!(which >> c & 1)) continue;
      i_.immediate |= 1 << c;
      i_.immediate2 |= static_cast<int32_t>(static_cast<uint32_t>(most & 255) << 8 * c);
    }
  }

  void read_modifier(const std::string& name, const std::string& value) {
    if (entry_.form == Form::wait) return;
    if (name == "offset") {
      i_.immediate = static_cast<int32_t>(number(value));
    } else if (name == "offset0") {
      i_.immediate = static_cast<int32_t>(number(value));
    } else if (name == "offset1") {
      i_.immediate2 = static_cast<int32_t>(number(value));
    } else if (name == "neg_lo" && entry_.kind == Kind::matrix && value.ends_with(",0]")) {
      i_.immediate = (value[1] == '1') | (value[3] == '1') << 1;
    } else if (!read_lane_modifier(name, value) && !read_part(name, value)) {
      throw Fault("the modifier '" + name + "' is not known");
    }
  }

  // RDNA2 ISA 13.3.9, RDNA3 ISA 7.7: which lane of its row of 16 each lane reads.
  bool read_lane_modifier(const std::string& name, const std::string& value) {
    if (line_.encoding != "dpp") return false;
    if (name == "row_xmask" || name == "row_share") {
      const auto n = static_cast<uint32_t>(number(value));
      for (uint32_t l = 0; l < lanes; ++l)
        i_.lane_table[l] = (l & 16) | (name == "row_xmask" ? (l ^ n) & 15 : n);
    } else if (name == "row_mask" || name == "bank_mask") {
      const long mask = number(value);
      for (int l = 0; l < lanes; ++l) {
        const int bit = name == "row_mask" ? l / 16 : l % 16 / 4;
        if (!(mask >> bit & 1)) i_.write_mask &= ~(1u << l);
      }
    } else if (name == "bound_ctrl") {
      i_.bound_control = value == "1";
    } else {
      return false;
    }
    return true;
  }
  bool read_part(const std::string& name, const std::string& value) {
    if (line_.encoding != "sdwa") return false;
    static const char* const names[] = {"DWORD", "WORD_0", "WORD_1", "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3"};
    const auto part = [&] {
      for (int n = 0; n < 7; ++n) {
        if (value == names[n]) return static_cast<Part>(n);
      }
      throw Fault("the part '" + value + "' is not known");
    };
    if (name == "dst_sel") {
      i_.target_part = part();
    } else if (name == "src0_sel") {
      i_.source_part[0] = part();
    } else if (name == "src1_sel") {
      i_.source_part[1] = part();
    } else {
      return name == "dst_unused" && value == "UNUSED_PAD";
    }
    return true;
  }

  // DPP and SDWA put other registers under the instruction.
  void wrap() {
    i_.inner = i_.run;
    const bool dpp = line_.encoding == "dpp";
    i_.run = dpp ? run_dpp : run_parts;
    for (int n = 0; n < (dpp ? 1 : std::min(2, i_.sources)); ++n) {
      Source& s = i_.source[n];
      const bool plain = i_.source_part[n] == Part::word && !i_.source_signed[n];
      if (!dpp && plain) continue;
      if (dpp && s.kind != Source::vector) throw Fault("it takes other lanes of no vector register");
      i_.original[n] = s;
      s.kind = Source::vector;
      s.reg = static_cast<uint16_t>(spare + 1 + n);
    }
    if (i_.target_part == Part::word) return;
    i_.final_target = i_.target;
    i_.target = spare + 3;
  }

  void note_registers() {
    for (int n = 0; n < i_.sources; ++n) note(i_.source[n], i_.reads);
    for (const Source& s : i_.original) note(s, i_.reads);
    if (entry_.reads_vcc) i_.reads.add_scalar(vcc, 1);
    if (entry_.reads_scc) i_.reads.add_scalar(scc_place, 1);
    i_.writes.add_vector(i_.target, i_.targets);
    if (i_.target_part != Part::word) i_.writes.add_vector(i_.final_target, i_.targets);
    // What moves values takes care by itself, and DPP of the lanes it reads.
    i_.needs = i_.reads;
    if (i_.moves) {
      i_.needs = {};
      if (entry_.reads_vcc) i_.needs.add_scalar(vcc, 1);
    }
    if (line_.encoding == "dpp" && !i_.moves) {
      i_.needs = only_scalars(i_.reads);
      for (int n = 1; n < i_.sources; ++n) note(i_.source[n], i_.needs);
    }
    i_.writes.add_scalar(i_.scalar_target, i_.scalar_targets);
  }
  static void note(const Source& s, Registers& registers) {
    if (s.kind == Source::vector) registers.add_vector(s.reg, s.words);
    if (s.kind == Source::scalar) registers.add_scalar(s.reg, s.words);
  }
  static Registers only_scalars(Registers registers) {
    for (uint64_t& some : registers.vector) some = 0;
    return registers;
  }

  const Chip& chip_;
  const Line& line_;
  const Entry& entry_;
  Instruction i_;
  size_t at_ = 0;
};

// Both halves read their registers before either writes (RDNA3 ISA 7.6 "VOPD"): the first one's result waits
// in a spare register.
void run_pair(Wave& w, const Instruction& i) {
  w.defined[spare] = 0;
  i.inner(w, i);
  i.second->run(w, *i.second);
  store_row(w, i.final_target, w.v[spare], w.active());
  w.undefine(i.final_target, w.active() & ~w.defined[spare]);
}

Instruction one(const Chip& chip, const std::string& text) {
  const Line line = take_apart(text);
  const Entry* entry = find_entry(line.mnemonic);
  if (!entry) throw Fault("this instruction is not known");
  return Reader(chip, line, *entry).read();
}

}  // namespace

Instruction decode_text(const Chip& chip, const std::string& text, Program& program) {
  const std::vector<std::string> halves = halves_of(text);
  Instruction first = one(chip, halves[0]);
  if (halves.size() == 1) return first;
  program.halves.push_back(one(chip, halves[1]));
  const Instruction& second = program.halves.back();
  first.second = &second;
  first.inner = first.run;
  first.run = run_pair;
  first.final_target = first.target;
  first.target = spare;
  first.reads.add(second.reads);
  first.needs.add(second.needs);
  first.writes.add(second.writes);
  return first;
}

}  // namespace lockstep::rdna
