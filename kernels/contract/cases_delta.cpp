// Cases of convolution, delta_rule and their replays.
#include <memory>

#include "kernels/contract/rounds.h"

namespace lockstep::kernels::contract {

namespace {

std::string name_of(const DeltaShape& s, const std::vector<Lane>& lanes) {
  std::string name = std::to_string(s.key_heads) + "/" + std::to_string(s.value_heads) + " heads, " +
                     std::to_string(s.key_dim) + " x " + std::to_string(s.value_dim) + ", lanes";
  for (const Lane& lane : lanes) {
    name += " " + std::to_string(lane.first_position) + "+" + std::to_string(lane.rows);
  }
  return name;
}

struct Style {
  Kind kind = Kind::normal;
  int planted = 0;
  int block_group = 0;  // 0 for none
  bool update = true;
};

// Everything that the four operations read.
struct DeltaData {
  DeltaData(Data& data, DeltaShape s, const std::vector<Lane>& lanes, const Style& style)
      : shape(s), plan(data, lanes), channels(s.channels()) {
    int rows = 0;
    for (const Lane& lane : lanes) rows += lane.rows;
    const int heads = s.value_heads, values = heads * s.value_dim;
    x = data.floats(rows, channels, style.kind);
    a = data.floats(rows, heads, style.kind);
    b = data.floats(rows, heads, style.kind);
    z = data.floats(rows, values, style.kind);
    update = data.floats(rows, values, style.kind);
    for (std::vector<float>* planted : {&x, &a, &b, &z, &update}) data.plant(*planted, style.planted);
    weight = data.floats(channels, s.taps);
    a_log = data.floats(1, heads);
    dt_bias = data.floats(1, heads);
    norm = data.floats(1, s.value_dim);
    conv_state = data.floats(plan.slots() * (s.taps - 1), channels, style.kind);
    state = data.floats(plan.slots() * heads * s.key_dim, s.value_dim);
  }
  std::vector<int> rows(const std::vector<int>& units) const {
    std::vector<int> all;
    for (const int unit : units) {
      const std::vector<int> some = plan.rows()[static_cast<size_t>(unit)];
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  DeltaShape shape;
  RoundPlan plan;
  int channels;
  std::vector<float> x, a, b, z, update, weight, a_log, dt_bias, norm, conv_state, state;
};

std::shared_ptr<DeltaData> make(Data& data, DeltaShape s, const std::vector<Lane>& lanes,
                                const Style& style) {
  return std::make_shared<DeltaData>(data, s, lanes, style);
}

Case convolution_case(Data& data, DeltaShape s, const std::vector<Lane>& lanes, const Style& style = {}) {
  auto d = make(data, s, lanes, style);
  return {name_of(s, lanes) + ", " + std::to_string(s.taps) + " taps",
          [=](Stage& stage, const std::vector<int>& units) {
            const Round round = d->plan.put(stage, units);
            const float* x = stage.input(rows_of(d->x, d->rows(units), d->channels));
            const float* weight = stage.input(d->weight);
            float* state = stage.inout("state", d->conv_state);
            stage.device().run(
                Convolution{round, s, x, weight, state, stage.output<float>("out", round.rows, d->channels)});
          },
          d->plan.rows()};
}

Case convolution_replay_case(Data& data, DeltaShape s, const std::vector<Lane>& lanes,
                             const Style& style = {}) {
  auto d = make(data, s, lanes, style);
  return {name_of(s, lanes) + ", " + std::to_string(s.taps) + " taps",
          [=](Stage& stage, const std::vector<int>& units) {
            const Round round = d->plan.put(stage, units, true);
            const float* x = stage.input(rows_of(d->x, d->rows(units), d->channels));
            stage.device().run(ConvolutionReplay{round, s, x, stage.inout("state", d->conv_state)});
          },
          d->plan.rows()};
}

Case delta_case(Data& data, DeltaShape s, const std::vector<Lane>& lanes, const Style& style = {}) {
  auto d = make(data, s, lanes, style);
  return {name_of(s, lanes),
          [=](Stage& stage, const std::vector<int>& units) {
            const std::vector<int> rows = d->rows(units);
            const int values = s.value_heads * s.value_dim;
            DeltaRule op{};
            op.round = d->plan.put(stage, units);
            op.shape = s;
            op.qkv = stage.input(rows_of(d->x, rows, d->channels));
            op.a = stage.input(rows_of(d->a, rows, s.value_heads));
            op.b = stage.input(rows_of(d->b, rows, s.value_heads));
            op.z = stage.input(rows_of(d->z, rows, values));
            op.a_log = stage.input(d->a_log);
            op.dt_bias = stage.input(d->dt_bias);
            op.norm = stage.input(d->norm);
            op.eps = 1e-6f;
            op.state = stage.inout("state", d->state);
            if (style.update) op.update = stage.output<float>("update", op.round.rows, values);
            op.out = stage.output<float>("out", op.round.rows, values);
            Blocks blocks;
            if (style.block_group) {
              blocks = stage.output_blocks(op.round.rows, values, style.block_group, true);
              op.blocks = &blocks;
            }
            stage.device().run(op);
          },
          d->plan.rows()};
}

Case delta_replay_case(Data& data, DeltaShape s, const std::vector<Lane>& lanes, const Style& style = {}) {
  auto d = make(data, s, lanes, style);
  return {name_of(s, lanes),
          [=](Stage& stage, const std::vector<int>& units) {
            const std::vector<int> rows = d->rows(units);
            DeltaReplay op{};
            op.round = d->plan.put(stage, units, true);
            op.shape = s;
            op.qkv = stage.input(rows_of(d->x, rows, d->channels));
            op.a = stage.input(rows_of(d->a, rows, s.value_heads));
            op.a_log = stage.input(d->a_log);
            op.dt_bias = stage.input(d->dt_bias);
            op.update = stage.input(rows_of(d->update, rows, s.value_heads * s.value_dim));
            op.state = stage.inout("state", d->state);
            stage.device().run(op);
          },
          d->plan.rows()};
}

const std::vector<Lane> prompts = {{0, 5},        {0, 1},        {64, 33}, {7, 1},
                                   {0, 2, false}, {9, 4, false}, {1, 1},   {2, 3}};
const std::vector<Lane> replays = {{0, 8, false, 5}, {0, 4, false, 4}, {40, 8, false, 0}, {3, 5, false, 1},
                                   {1, 3, false, 3}, {0, 3, false, 1}, {17, 2, false, 2}, {0, 2, false, 0}};
const DeltaShape shapes[] = {{1, 1, 32, 16, 4}, {2, 4, 64, 32, 4}, {1, 2, 128, 128, 4},
                             {1, 3, 16, 48, 3}, {3, 3, 64, 64, 2}, {1, 1, 16, 16, 1}};
constexpr Kind odd_kinds[] = {Kind::outliers, Kind::tiny, Kind::huge, Kind::mixed, Kind::zeros};

}  // namespace

std::vector<Case> cases(const Convolution*, Data& data) {
  std::vector<Case> list;
  for (const DeltaShape& shape : shapes) list.push_back(convolution_case(data, shape, prompts));
  for (const Kind kind : odd_kinds) list.push_back(convolution_case(data, shapes[1], prompts, {kind}));
  list.push_back(convolution_case(data, shapes[1], prompts, {Kind::normal, 30}));
  list.push_back(convolution_case(data, {1, 1, 11, 16, 4}, prompts));
  list.push_back(convolution_case(data, shapes[2], {{0, 200}}));
  list.push_back(convolution_case(data, {16, 32, 128, 128, 4}, {{900, 1}, {5, 3}}));
  return list;
}

std::vector<Case> cases(const ConvolutionReplay*, Data& data) {
  std::vector<Case> list;
  for (const DeltaShape& shape : shapes) list.push_back(convolution_replay_case(data, shape, replays));
  list.push_back(convolution_replay_case(data, shapes[1], replays, {Kind::normal, 30}));
  return list;
}

std::vector<Case> cases(const DeltaRule*, Data& data) {
  std::vector<Case> list;
  for (const DeltaShape& shape : shapes) {
    list.push_back(
        delta_case(data, shape, prompts,
                   {Kind::normal, 0, shape.value_dim == 48 ? 0 : 32 * (shape.value_dim / 32), true}));
  }
  for (const Kind kind : odd_kinds) {
    list.push_back(delta_case(data, shapes[1], prompts, {kind, 0, 64, true}));
  }
  list.push_back(delta_case(data, shapes[1], prompts, {Kind::normal, 12, 32, false}));
  list.push_back(delta_case(data, shapes[2], prompts, {Kind::normal, 3, 128, false}));
  list.push_back(delta_case(data, shapes[2], {{0, 150}, {90, 1}}, {Kind::normal, 0, 64, false}));
  list.push_back(delta_case(data, {4, 8, 128, 128, 4}, {{900, 1}, {5, 3}}, {Kind::normal, 0, 64, true}));
  return list;
}

std::vector<Case> cases(const DeltaReplay*, Data& data) {
  std::vector<Case> list;
  for (const DeltaShape& shape : shapes) list.push_back(delta_replay_case(data, shape, replays));
  for (const Kind kind : odd_kinds) list.push_back(delta_replay_case(data, shapes[1], replays, {kind}));
  list.push_back(delta_replay_case(data, shapes[1], replays, {Kind::normal, 12}));
  return list;
}

}  // namespace lockstep::kernels::contract
