// Cases of linear and swiglu.
#include <memory>

#include "kernels/canon/base.h"
#include "kernels/contract/cases.h"

namespace lockstep::kernels::contract {

namespace {

constexpr ScaleType scale_types[] = {ScaleType::bf16, ScaleType::fp16, ScaleType::fp32};
constexpr int row_counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33};
constexpr int output_counts[] = {1, 3, 8, 15, 16, 17, 31, 33, 48, 64, 65, 100};

struct Shape {
  int rows = 1;            // of the outputs
  int rows_per_input = 1;  // divides rows
  int experts = 1;
  int outputs = 16, inputs = 256;
  int bits = 4, group = 64;
  ScaleType type = ScaleType::bf16;
  Kind kind = Kind::normal;
  int planted = 0;
  int stride_extra = 0;

  std::string name() const {
    return std::to_string(bits) + " bits, group " + std::to_string(group) + ", " + std::to_string(rows) +
           " rows, " + std::to_string(inputs) + " x " + std::to_string(outputs) +
           (experts > 1 ? ", " + std::to_string(experts) + " experts" : "");
  }
};

// The input rows and experts of a case, cut to some output rows. Units are input rows.
struct InputData {
  InputData(Data& data, const Shape& s) : shape(s) {
    x = data.floats(s.rows / s.rows_per_input, s.inputs, s.kind);
    data.plant(x, s.planted);
    if (s.experts > 1) expert = data.integers(s.rows, 0, s.experts - 1);
    for (int i = 0; i < s.rows / s.rows_per_input; ++i) {
      units.emplace_back();
      for (int r = 0; r < s.rows_per_input; ++r) units.back().push_back(i * s.rows_per_input + r);
    }
  }
  // Fills the fields that Linear and SwiGlu share; fp32 rows only where a matrix reads them.
  template <class Op>
  void put(Stage& stage, const std::vector<int>& some, bool codes, bool dense, Op& op) const {
    const int n = static_cast<int>(some.size());
    const std::vector<float> input = rows_of(x, some, shape.inputs);
    op.rows = n * shape.rows_per_input;
    if (codes) op.in = stage.input_blocks(input, n, shape.inputs, shape.group, true);
    if (dense) op.x = stage.input(input);
    op.rows_per_input = shape.rows_per_input;
    if (shape.experts > 1) op.expert = stage.input(rows_of(expert, some, shape.rows_per_input));
  }

  Shape shape;
  std::vector<float> x;
  std::vector<int32_t> expert;
  std::vector<std::vector<int>> units;
};

// One or more matrices that read the same rows; `second` bits 0 means one matrix.
Case linear_case(Data& data, const Shape& s, int second_bits = 0,
                 std::shared_ptr<MatrixData> first = nullptr) {
  auto input = std::make_shared<InputData>(data, s);
  std::vector<std::shared_ptr<MatrixData>> matrices;
  matrices.push_back(
      first ? first
            : std::make_shared<MatrixData>(data, s.experts, s.outputs, s.inputs, s.bits, s.group, s.type));
  if (second_bits) {
    matrices.push_back(
        std::make_shared<MatrixData>(data, s.experts, 37, s.inputs, second_bits, s.group, s.type));
    matrices.push_back(
        std::make_shared<MatrixData>(data, s.experts, 2, s.inputs, s.bits, s.group, ScaleType::fp32));
  }
  return {s.name() + (second_bits ? ", with " + std::to_string(second_bits) + " bits beside" : ""),
          [=](Stage& stage, const std::vector<int>& units) {
            Linear op{};
            bool codes = false, dense = false;
            for (const auto& m : matrices) (m->shape.bits == 16 ? dense : codes) = true;
            input->put(stage, units, codes, dense, op);
            std::vector<std::unique_ptr<Matrix>> packed;
            std::vector<LinearOutput> outputs;
            for (const auto& m : matrices) {
              packed.push_back(stage.device().pack(m->source()));
              const int stride = m->shape.outputs + s.stride_extra;
              const std::string name = "y" + std::to_string(outputs.size());
              outputs.push_back(
                  {packed.back().get(), stage.output<float>(name.c_str(), op.rows, stride), stride});
            }
            op.outputs = outputs;
            stage.device().run(op);
            stage.device().wait();
          },
          input->units};
}

Case swiglu_case(Data& data, const Shape& s, int block_group) {
  auto input = std::make_shared<InputData>(data, s);
  auto gate = std::make_shared<MatrixData>(data, s.experts, s.outputs, s.inputs, s.bits, s.group, s.type);
  auto up = std::make_shared<MatrixData>(data, s.experts, s.outputs, s.inputs, s.bits, s.group, s.type);
  return {s.name(),
          [=](Stage& stage, const std::vector<int>& units) {
            SwiGlu op{};
            input->put(stage, units, s.bits != 16, s.bits == 16, op);
            const auto pair = stage.device().pack_pair(gate->source(), up->source());
            op.gate_up = pair.get();
            op.out = stage.output<float>("out", op.rows, s.outputs);
            Blocks blocks;
            if (block_group) {
              blocks = stage.output_blocks(op.rows, s.outputs, block_group, true);
              op.blocks = &blocks;
            }
            stage.device().run(op);
            stage.device().wait();
          },
          input->units};
}

// Largest codes against the largest q of one sign and of both, where a narrow accumulator would overflow.
void add_extremes(Data& data, std::vector<Case>& list) {
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      Shape s{2, 1, 1, 33, 512, bits, group, ScaleType::fp32};
      auto matrix = std::make_shared<MatrixData>(data, 1, s.outputs, s.inputs, bits, group, s.type);
      matrix->fill_codes(0xff);
      auto input = std::make_shared<InputData>(data, s);
      for (size_t i = 0; i < input->x.size(); ++i) {
        input->x[i] = i < static_cast<size_t>(s.inputs) || i % 2 ? 0x1.fffffep0f : -0x1.fffffep0f;
      }
      list.push_back(
          {"largest codes, " + s.name(),
           [=](Stage& stage, const std::vector<int>& units) {
             Linear op{};
             input->put(stage, units, true, false, op);
             const auto packed = stage.device().pack(matrix->source());
             const LinearOutput output{packed.get(), stage.output<float>("y", op.rows, s.outputs), s.outputs};
             op.outputs = {&output, 1};
             stage.device().run(op);
             stage.device().wait();
           },
           input->units});
    }
  }
}

}  // namespace

std::vector<Case> cases(const Linear*, Data& data) {
  std::vector<Case> list;
  size_t turn = 0;
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      for (const ScaleType type : scale_types) {
        Shape s{row_counts[turn % std::size(row_counts)], 1, 1,
                output_counts[turn % std::size(output_counts)]};
        s.inputs = group * (1 + static_cast<int>(turn * 5 % 19));
        s.bits = bits;
        s.group = group;
        s.type = type;
        s.stride_extra = turn % 3 == 0 ? 3 : 0;
        list.push_back(linear_case(data, s));
        ++turn;
      }
      // Several matrices of one input, experts with several rows of one input, numbers of every size.
      Shape many{6, 1, 1, 50, group * 6, bits, group, scale_types[turn % 3]};
      list.push_back(linear_case(data, many, turn % 2 ? 8 : 16));
      Shape routed{12, 3, 5, 40, group * 4, bits, group, scale_types[turn % 3]};
      list.push_back(linear_case(data, routed));
    }
  }
  for (const int rows : row_counts) {
    list.push_back(linear_case(data, {rows, 1, 1, 96, 1024, 4, 64, ScaleType::bf16}));
    list.push_back(linear_case(data, {rows, 1, 1, 20, 300, 16, 64}));
  }
  for (const Kind kind : {Kind::outliers, Kind::tiny, Kind::huge, Kind::mixed, Kind::zeros, Kind::ties}) {
    for (const int bits : {4, 8})
      list.push_back(linear_case(data, {5, 1, 1, 40, 640, bits, 64, ScaleType::fp32, kind}));
    list.push_back(linear_case(data, {5, 1, 1, 40, 640, 16, 64, ScaleType::bf16, kind}));
  }
  for (const int bits : {3, 4, 8, 16}) {
    list.push_back(linear_case(data, {9, 1, 1, 40, 1024, bits, 64, ScaleType::fp32, Kind::normal, 8}));
    list.push_back(linear_case(data, {8, 2, 4, 40, 1024, bits, 64, ScaleType::fp32, Kind::normal, 3}));
  }
  for (const int bits : {4, 8}) {  // non-finite scales
    auto matrix = std::make_shared<MatrixData>(data, 1, 40, 512, bits, 64, ScaleType::fp32);
    matrix->set_scale(3, 0x7f800000u);
    matrix->set_scale(100, 0x7fc00000u);
    list.push_back(linear_case(data, {4, 1, 1, 40, 512, bits, 64, ScaleType::fp32}, 0, matrix));
  }
  add_extremes(data, list);
  // Served shapes with fewer outputs.
  list.push_back(linear_case(data, {1, 1, 1, 256, 5120, 4, 64, ScaleType::bf16}));
  list.push_back(linear_case(data, {8, 1, 1, 128, 5120, 4, 64, ScaleType::bf16}));
  list.push_back(linear_case(data, {130, 1, 1, 96, 2048, 4, 64, ScaleType::bf16}));
  list.push_back(linear_case(data, {67, 1, 1, 40, 2560, 8, 64, ScaleType::fp16}));
  list.push_back(linear_case(data, {2, 1, 1, 64, 17408, 6, 128, ScaleType::bf16}));
  list.push_back(linear_case(data, {64, 8, 32, 64, 512, 4, 64, ScaleType::bf16}));
  // Few and many rows an expert, some experts without any.
  list.push_back(linear_case(data, {150, 1, 2, 40, 512, 4, 64, ScaleType::bf16}));
  list.push_back(linear_case(data, {90, 3, 45, 40, 512, 3, 64, ScaleType::bf16}));
  list.push_back(linear_case(data, {528, 8, 3, 33, 256, 5, 32, ScaleType::fp32}));
  return list;
}

std::vector<Case> cases(const SwiGlu*, Data& data) {
  std::vector<Case> list;
  size_t turn = 0;
  for (const int bits : {2, 3, 4, 5, 6, 8, 16}) {
    for (const int group : {32, 64, 128}) {
      Shape s{row_counts[turn % std::size(row_counts)], 1, 1, 128,
              group * (1 + static_cast<int>(turn * 3 % 11))};
      s.bits = bits;
      s.group = group;
      s.type = scale_types[turn % 3];
      list.push_back(swiglu_case(data, s, turn % 4 ? group : 0));
      s.rows = 12;
      s.rows_per_input = 4;
      s.experts = 7;
      s.inputs = 3 * group;
      list.push_back(swiglu_case(data, s, group));
      ++turn;
    }
  }
  for (const int outputs : {1, 5, 17, 100}) list.push_back(swiglu_case(data, {3, 1, 1, outputs, 256}, 0));
  for (const Kind kind : {Kind::outliers, Kind::huge, Kind::tiny, Kind::zeros}) {
    list.push_back(swiglu_case(data, {5, 1, 1, 64, 512, 4, 64, ScaleType::fp32, kind}, 64));
  }
  list.push_back(swiglu_case(data, {9, 1, 1, 64, 512, 4, 64, ScaleType::bf16, Kind::normal, 8}, 32));
  list.push_back(swiglu_case(data, {1, 1, 1, 256, 5120, 4, 64, ScaleType::bf16}, 64));
  list.push_back(swiglu_case(data, {70, 1, 1, 64, 1024, 4, 64, ScaleType::bf16}, 64));
  list.push_back(swiglu_case(data, {136, 8, 5, 64, 512, 4, 64, ScaleType::bf16}, 64));
  list.push_back(swiglu_case(data, {136, 8, 68, 64, 512, 4, 64, ScaleType::bf16}, 64));
  return list;
}

}  // namespace lockstep::kernels::contract
