// Cases of attention_inputs, attention and kv_read.
#include <cmath>
#include <memory>

#include "kernels/canon/rotary.h"
#include "kernels/contract/rounds.h"

namespace lockstep::kernels::contract {

namespace {

// What varies between cases beside shape and lanes.
struct Style {
  Kind kind = Kind::normal;
  float sharpness = 1.0f;  // factor of the head norms' weights: large gives peaked or overflowing scores
  int planted = 0;         // special numbers in each of queries, keys and values
  int block_group = 64;    // of the result; 0 for none
};

// One lane's numbers at all its positions.
struct LaneNumbers {
  std::vector<float> q_gate, k, v;
};

class AttentionData {
 public:
  AttentionData(Data& data, AttentionShape shape_, const std::vector<Lane>& lanes, const Style& style)
      : shape(shape_), plan(data, lanes) {
    for (const Lane& lane : lanes) {
      const int positions = lane.first_position + lane.rows;
      LaneNumbers n{data.floats(lane.rows, shape.query_heads * 2 * shape.head_dim, style.kind),
                    data.floats(positions, shape.key_heads * shape.head_dim, style.kind),
                    data.floats(positions, shape.key_heads * shape.head_dim, style.kind)};
      for (std::vector<float>* x : {&n.q_gate, &n.k, &n.v}) data.plant(*x, style.planted);
      numbers_.push_back(std::move(n));
    }
    q_norm_ = data.floats(1, shape.head_dim);
    k_norm_ = data.floats(1, shape.head_dim);
    for (float& w : q_norm_) w *= style.sharpness;
    for (float& w : k_norm_) w *= style.sharpness;
    for (int i = 0; i < shape.rotary_dim / 2; ++i) {
      inv_freq_.push_back(canon::inverse_frequency(10000.0, i, shape.rotary_dim));
    }
  }

  // The parameters of AttentionInputs for a round of the units; q is left to the caller.
  AttentionInputs inputs(Stage& stage, const std::vector<int>& units, const KvPages& kv) const {
    AttentionInputs op{};
    op.round = plan.put(stage, units);
    op.shape = shape;
    put_numbers(stage, units, false, op);
    put_rest(stage, kv, op);
    return op;
  }
  // Fills the pages with the positions before the units' own.
  void fill(Stage& stage, const std::vector<int>& units, const KvPages& kv) const {
    AttentionInputs op{};
    op.round = plan.put_context(stage, units);
    if (op.round.rows == 0) return;
    op.shape = shape;
    op.shape.query_heads = shape.key_heads;
    put_numbers(stage, units, true, op);
    put_rest(stage, kv, op);
    op.q = scratch_blocks(stage, op.round.rows, shape.key_heads * shape.head_dim, shape.head_dim);
    stage.device().run(op);
  }
  KvPages pages(Stage& stage) const {
    const size_t bytes = stage.device().kv_page_bytes(shape.key_heads, shape.head_dim);
    return {stage.scratch(bytes * static_cast<size_t>(plan.pool_pages())), shape.key_heads, shape.head_dim};
  }
  // Reads `positions` of one lane back, as outputs.
  void read(Stage& stage, int unit, int positions, const KvPages& kv) const {
    const int heads = shape.key_heads, length = heads * shape.head_dim;
    KvRead op{};
    op.kv = kv;
    op.pages = stage.input(plan.pages(unit));
    op.positions = positions;
    const std::string lane = "lane " + std::to_string(unit) + " ";
    op.k_high = stage.whole_output<int8_t>(lane + "key high", positions * length);
    op.k_low = stage.whole_output<int8_t>(lane + "key low", positions * length);
    op.v_high = stage.whole_output<int8_t>(lane + "value high", positions * length);
    op.v_low = stage.whole_output<int8_t>(lane + "value low", positions * length);
    op.k_multiplier = stage.whole_output<float>(lane + "key multiplier", positions * heads);
    op.v_multiplier = stage.whole_output<float>(lane + "value multiplier", positions * heads);
    stage.device().run(op);
  }
  static Blocks scratch_blocks(Stage& stage, int rows, int length, int group) {
    const auto n = static_cast<size_t>(rows) * static_cast<size_t>(length);
    Blocks blocks;
    blocks.high = static_cast<int8_t*>(stage.scratch(n));
    blocks.low = static_cast<int8_t*>(stage.scratch(n));
    blocks.multiplier = static_cast<float*>(stage.scratch(n / static_cast<size_t>(group) * sizeof(float)));
    blocks.length = length;
    blocks.group = group;
    return blocks;
  }

  AttentionShape shape;
  RoundPlan plan;

 private:
  // Queries, keys and values of the units' own rows, or of the positions before them.
  void put_numbers(Stage& stage, const std::vector<int>& units, bool before, AttentionInputs& op) const {
    std::vector<float> q_gate, k, v;
    for (const int unit : units) {
      const LaneNumbers& n = numbers_[static_cast<size_t>(unit)];
      const ptrdiff_t border =
          static_cast<ptrdiff_t>(plan.lanes()[static_cast<size_t>(unit)].first_position) * shape.key_heads *
          shape.head_dim;
      for (const auto& [from, to] : {std::pair{&n.k, &k}, std::pair{&n.v, &v}}) {
        to->insert(to->end(), before ? from->begin() : from->begin() + border,
                   before ? from->begin() + border : from->end());
      }
      if (!before) q_gate.insert(q_gate.end(), n.q_gate.begin(), n.q_gate.end());
    }
    if (before) q_gate.assign(2 * k.size(), 1.0f);
    op.q_gate = stage.input(q_gate);
    op.k = stage.input(k);
    op.v = stage.input(v);
  }
  void put_rest(Stage& stage, const KvPages& kv, AttentionInputs& op) const {
    op.q_norm = stage.input(q_norm_);
    op.k_norm = stage.input(k_norm_);
    op.eps = 1e-6f;
    op.inv_freq = stage.input(inv_freq_);
    op.kv = kv;
  }

  std::vector<LaneNumbers> numbers_;
  std::vector<float> q_norm_, k_norm_, inv_freq_;
};

std::string name_of(AttentionShape s, const std::vector<Lane>& lanes) {
  std::string name = std::to_string(s.query_heads) + "/" + std::to_string(s.key_heads) + " heads of " +
                     std::to_string(s.head_dim) + ", rotary " + std::to_string(s.rotary_dim) + ", lanes";
  for (const Lane& lane : lanes) {
    name += " " + std::to_string(lane.first_position) + "+" + std::to_string(lane.rows);
  }
  return name;
}

Case inputs_case(Data& data, AttentionShape shape, const std::vector<Lane>& lanes, const Style& style = {}) {
  auto d = std::make_shared<AttentionData>(data, shape, lanes, style);
  return {name_of(shape, lanes),
          [=](Stage& stage, const std::vector<int>& units) {
            const KvPages kv = d->pages(stage);
            d->fill(stage, units, kv);
            AttentionInputs op = d->inputs(stage, units, kv);
            op.q =
                stage.output_blocks(op.round.rows, shape.query_heads * shape.head_dim, shape.head_dim, false);
            stage.device().run(op);
            for (const int unit : units) {
              const Lane& lane = lanes[static_cast<size_t>(unit)];
              d->read(stage, unit, lane.first_position + lane.rows, kv);
            }
          },
          d->plan.rows()};
}

Case attention_case(Data& data, AttentionShape shape, const std::vector<Lane>& lanes,
                    const Style& style = {}) {
  auto d = std::make_shared<AttentionData>(data, shape, lanes, style);
  return {name_of(shape, lanes),
          [=](Stage& stage, const std::vector<int>& units) {
            const KvPages kv = d->pages(stage);
            d->fill(stage, units, kv);
            AttentionInputs inputs = d->inputs(stage, units, kv);
            const int rows = inputs.round.rows, length = shape.query_heads * shape.head_dim;
            inputs.q = AttentionData::scratch_blocks(stage, rows, length, shape.head_dim);
            stage.device().run(inputs);
            Attention op{};
            op.round = inputs.round;
            op.shape = shape;
            op.q = inputs.q;
            op.q_gate = inputs.q_gate;
            op.kv = kv;
            op.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.head_dim)));
            op.out = stage.output<float>("out", rows, length);
            Blocks blocks;
            if (style.block_group) {
              blocks = stage.output_blocks(rows, length, style.block_group, true);
              op.blocks = &blocks;
            }
            stage.device().run(op);
          },
          d->plan.rows()};
}

Case read_case(Data& data, AttentionShape shape, int written, int positions) {
  const std::vector<Lane> lanes = {{0, 70}, {0, written}};
  auto d = std::make_shared<AttentionData>(data, shape, lanes, Style{Kind::outliers, 1.0f, 5, 0});
  return {name_of(shape, lanes) + ", " + std::to_string(positions) + " read",
          [=](Stage& stage, const std::vector<int>&) {
            const KvPages kv = d->pages(stage);
            AttentionInputs op = d->inputs(stage, {0, 1}, kv);
            op.q = AttentionData::scratch_blocks(stage, op.round.rows, shape.query_heads * shape.head_dim,
                                                 shape.head_dim);
            stage.device().run(op);
            d->read(stage, 1, positions, kv);
          },
          {{0}}};
}

}  // namespace

std::vector<Case> cases(const AttentionInputs*, Data& data) {
  std::vector<Case> list;
  const std::vector<Lane> mixed = {{0, 1}, {0, 65}, {63, 2}, {200, 1}, {5, 33}};
  for (const int dim : {64, 128, 256}) {
    for (const int rotary : {16, dim / 4, dim}) {
      list.push_back(inputs_case(data, {2, 1, dim, rotary}, mixed));
    }
    list.push_back(inputs_case(data, {6, 2, dim, 32}, {{0, 3}, {64, 1}}, {Kind::outliers, 1.0f, 6}));
    list.push_back(inputs_case(data, {3, 3, dim, dim / 2}, {{127, 5}}, {Kind::huge}));
    list.push_back(inputs_case(data, {4, 4, dim, dim / 2}, {{10, 4}}, {Kind::tiny}));
  }
  list.push_back(inputs_case(data, {2, 1, 64, 16}, {{5000, 3}, {0, 130}}));
  list.push_back(inputs_case(data, {1, 1, 64, 64}, {{0, 1}}, {Kind::zeros}));
  return list;
}

std::vector<Case> cases(const Attention*, Data& data) {
  std::vector<Case> list;
  const std::vector<Lane> prompts = {{0, 1}, {0, 5}, {0, 64}, {0, 65}, {0, 33}};
  const std::vector<Lane> decode = {{0, 1},   {63, 1},  {64, 1},   {255, 1},
                                    {256, 1}, {511, 1}, {1023, 1}, {1300, 1}};
  const std::vector<Lane> mixed = {{100, 40}, {700, 1}, {254, 4}, {0, 20}, {510, 3}};
  for (const AttentionShape shape : {AttentionShape{2, 1, 64, 16}, {4, 2, 128, 32}, {3, 1, 256, 64}}) {
    for (const auto& lanes : {prompts, decode, mixed}) list.push_back(attention_case(data, shape, lanes));
  }
  const std::vector<Lane> few = {{300, 9}, {60, 8}, {0, 7}};
  for (const Kind kind : {Kind::outliers, Kind::tiny, Kind::huge, Kind::mixed, Kind::ties, Kind::zeros}) {
    list.push_back(attention_case(data, {2, 2, 64, 64}, few, {kind, 1.0f, 0, 32}));
    list.push_back(attention_case(data, {2, 1, 256, 64}, few, {kind, 1.0f, 0, 128}));
  }
  for (const float sharpness : {6.0f, 100.0f, 1e18f, 1e-20f}) {  // peaked; one key only; inf and NaN; even
    list.push_back(attention_case(data, {4, 2, 64, 16}, few, {Kind::normal, sharpness}));
  }
  for (const int planted : {1, 4, 40}) {
    list.push_back(
        attention_case(data, {2, 1, 64, 16}, {{70, 70}, {250, 20}, {0, 9}}, {Kind::normal, 1.0f, planted}));
  }
  // Served shapes: several spans in one prompt, long contexts, many query heads a key head.
  list.push_back(attention_case(data, {2, 1, 64, 16}, {{0, 1150}}));
  list.push_back(attention_case(data, {8, 1, 128, 32}, {{1090, 20}, {3000, 1}}));
  list.push_back(attention_case(data, {2, 1, 64, 16}, {{6000, 2}, {8190, 4}}));
  list.push_back(attention_case(data, {6, 1, 256, 64}, {{2100, 1}, {1020, 8}}, {Kind::normal, 3.0f, 0, 128}));
  list.push_back(attention_case(data, {1, 1, 128, 128}, {{0, 300}}, {Kind::normal, 1.0f, 0, 0}));
  return list;
}

std::vector<Case> cases(const KvRead*, Data& data) {
  std::vector<Case> list;
  for (const int dim : {64, 128, 256}) {
    for (const int positions : {1, 63, 64, 65, 200}) {
      list.push_back(read_case(data, {2, positions % 2 ? 1 : 2, dim, 16}, 200, positions));
    }
  }
  return list;
}

}  // namespace lockstep::kernels::contract
