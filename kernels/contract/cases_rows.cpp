// Cases of the operations that treat each row by itself: embed, norm, quantize, gather.
#include "kernels/contract/cases.h"

namespace lockstep::kernels::contract {

namespace {

constexpr ScaleType scale_types[] = {ScaleType::bf16, ScaleType::fp16, ScaleType::fp32};

Case norm_case(Data& data, int rows, int length, Kind kind, bool add, int pad, int group, bool sums, bool out,
               int planted) {
  std::vector<float> x = data.floats(rows, length, kind), addend = data.floats(rows, length, kind);
  data.plant(x, planted);
  data.plant(addend, planted);
  const std::vector<float> weight = data.floats(1, length);
  const float eps = kind == Kind::tiny ? 0x1p-140f : 1e-6f;
  return {std::to_string(rows) + " rows of " + std::to_string(length),
          [=](Stage& stage, const std::vector<int>& units) {
            const int n = static_cast<int>(units.size());
            const std::vector<float> some = rows_of(x, units, length);
            Norm op{};
            op.rows = n;
            op.length = length;
            // Without an addend x is only read.
            op.x = add ? stage.inout_rows("x", some, n) : const_cast<float*>(stage.input(some));
            if (add) op.add = stage.input(rows_of(addend, units, length));
            op.weight = stage.input(weight);
            op.eps = eps;
            if (out) op.out = stage.output<float>("out", n, length + pad);
            op.out_stride = length + pad;
            Blocks blocks;
            if (group) {
              blocks = stage.output_blocks(n, length, group, sums);
              op.blocks = &blocks;
            }
            stage.device().run(op);
          },
          single_rows(rows)};
}

Case quantize_case(Data& data, int rows, int length, int group, Kind kind, bool sums, int planted) {
  std::vector<float> x = data.floats(rows, length, kind);
  data.plant(x, planted);
  return {std::to_string(rows) + " rows of " + std::to_string(length) + ", group " + std::to_string(group),
          [=](Stage& stage, const std::vector<int>& units) {
            const int n = static_cast<int>(units.size());
            const float* input = stage.input(rows_of(x, units, length));
            stage.device().run(Quantize{n, input, stage.output_blocks(n, length, group, sums)});
          },
          single_rows(rows)};
}

}  // namespace

std::vector<std::vector<int>> single_rows(int n) {
  std::vector<std::vector<int>> rows;
  for (int i = 0; i < n; ++i) rows.push_back({i});
  return rows;
}

std::vector<Case> cases(const Embed*, Data& data) {
  std::vector<Case> list;
  int turn = 0;
  const auto add = [&](int rows, int vocabulary, int inputs, int bits, int group, ScaleType type) {
    const auto table = std::make_shared<MatrixData>(data, 1, vocabulary, inputs, bits, group, type);
    const std::vector<int32_t> tokens = data.integers(rows, 0, vocabulary - 1);
    list.push_back(
        {std::to_string(bits) + " bits, group " + std::to_string(group) + ", " + std::to_string(rows) +
             " rows of " + std::to_string(inputs),
         [=](Stage& stage, const std::vector<int>& units) {
           const int n = static_cast<int>(units.size());
           const auto packed = stage.device().pack(table->source());
           const int32_t* input = stage.input(rows_of(tokens, units, 1));
           stage.device().run(Embed{n, input, packed.get(), stage.output<float>("out", n, inputs)});
           stage.device().wait();
         },
         single_rows(rows)});
  };
  for (const int bits : {2, 3, 4, 5, 6, 8}) {
    for (const int group : {32, 64, 128}) {
      for (const ScaleType type : scale_types) {
        const int rows[] = {1, 2, 5, 17, 33};
        add(rows[turn % 5], 67 + turn, group * (1 + turn % 7), bits, group, type);
        ++turn;
      }
    }
  }
  add(3, 40, 96, 16, 0, ScaleType::bf16);
  add(33, 50, 1000, 16, 0, ScaleType::bf16);
  return list;
}

std::vector<Case> cases(const Norm*, Data& data) {
  std::vector<Case> list;
  for (const int length : {32, 64, 128, 384, 1152, 2560, 5120}) {
    for (const bool add : {false, true}) {
      const int group = length % 128 == 0 ? (add ? 128 : 64) : 32;
      list.push_back(norm_case(data, length > 2000 ? 4 : 9, length, Kind::normal, add, add ? 0 : 5, group,
                               add, true, 0));
    }
  }
  for (const int length : {1, 7, 31, 33, 100, 1000}) {
    list.push_back(norm_case(data, 3, length, Kind::mixed, true, 3, 0, false, true, 0));
  }
  for (const Kind kind : {Kind::outliers, Kind::tiny, Kind::huge, Kind::mixed, Kind::zeros}) {
    list.push_back(norm_case(data, 6, 640, kind, true, 0, 32, true, true, 0));
    list.push_back(norm_case(data, 6, 640, kind, false, 0, 128, true, false, 0));
  }
  for (const int rows : {1, 2, 33})
    list.push_back(norm_case(data, rows, 256, Kind::normal, true, 0, 64, true, true, 0));
  list.push_back(norm_case(data, 12, 256, Kind::normal, true, 1, 64, true, true, 9));
  list.push_back(norm_case(data, 12, 256, Kind::normal, false, 0, 32, true, true, 9));
  return list;
}

std::vector<Case> cases(const Quantize*, Data& data) {
  std::vector<Case> list;
  for (const int group : {32, 64, 128, 256}) {
    for (const Kind kind :
         {Kind::normal, Kind::outliers, Kind::tiny, Kind::huge, Kind::mixed, Kind::ties, Kind::zeros}) {
      list.push_back(quantize_case(data, 5, 3 * group, group, kind, group != 256, 0));
    }
    list.push_back(quantize_case(data, 9, 5 * group, group, Kind::normal, true, 18));
  }
  for (const int rows : {1, 2, 33})
    list.push_back(quantize_case(data, rows, 1280, 64, Kind::normal, true, 0));
  return list;
}

std::vector<Case> cases(const Gather*, Data& data) {
  std::vector<Case> list;
  const auto add = [&](int rows, int length, int from) {
    std::vector<float> x = data.floats(from, length);
    data.plant(x, 3);
    const std::vector<int32_t> row = data.integers(rows, 0, from - 1);
    list.push_back(
        {std::to_string(rows) + " rows of " + std::to_string(length),
         [=](Stage& stage, const std::vector<int>& units) {
           const int n = static_cast<int>(units.size());
           const int32_t* some = stage.input(rows_of(row, units, 1));
           const float* input = stage.input(x);
           stage.device().run(Gather{n, length, some, input, stage.output<float>("out", n, length)});
         },
         single_rows(rows)});
  };
  add(1, 1, 1);
  add(2, 100, 9);
  add(7, 513, 5);
  add(33, 1024, 40);
  return list;
}

}  // namespace lockstep::kernels::contract
