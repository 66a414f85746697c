#include "kernels/cpu/linear.h"

#include <algorithm>
#include <vector>

namespace lockstep::kernels::cpu {
namespace {

// Rows of one matrix and expert that are computed together, and its share of the tasks.
struct Part {
  const LinearOutput* output;  // null: SwiGlu
  const PackedMatrix* matrix;
  int expert;
  int first, rows;  // in the order of Plan::row; at most most_rows
  int units;        // the work: `unit` tiles each
  int unit;
  int tasks_before;
};

// How one call is cut into tasks. Rows are ordered by expert, in their own order within one.
struct Plan {
  std::vector<int> row;         // [rows] number of the row
  std::vector<InputRow> input;  // [rows]
  std::vector<Part> parts;
  int tasks = 0;
};

InputRow input_row(const Blocks& in, const float* x, int inputs, int row) {
  InputRow input{};
  if (in.high) {
    const size_t at = static_cast<size_t>(row) * static_cast<size_t>(in.length),
                 block = at / static_cast<size_t>(in.group);
    input = {in.high + at, in.low + at, in.multiplier + block, in.sum + block, nullptr};
  }
  if (x) input.x = x + static_cast<size_t>(row) * static_cast<size_t>(inputs);
  return input;
}

void order_rows(Plan& plan, int rows, const int32_t* expert) {
  plan.row.resize(static_cast<size_t>(rows));
  for (int r = 0; r < rows; ++r) plan.row[static_cast<size_t>(r)] = r;
  if (expert)
    std::stable_sort(plan.row.begin(), plan.row.end(), [&](int a, int b) { return expert[a] < expert[b]; });
}

// Adds the rows [first, last) of the order, all of one expert.
void add_parts(Plan& plan, const LinearOutput* output, const PackedMatrix& matrix, int expert, int first,
               int last, int unit) {
  const int pieces = (last - first + most_rows - 1) / most_rows;
  for (int piece = 0; piece < pieces; ++piece) {
    const int begin = first + (last - first) * piece / pieces,
              end = first + (last - first) * (piece + 1) / pieces;
    const int units = (matrix.tiles + unit - 1) / unit;
    plan.parts.push_back({output, &matrix, expert, begin, end - begin, units, unit, plan.tasks});
    plan.tasks += units;
  }
}

// f(part, first unit, units) for the tasks [first, last).
template <class F>
void each_part(const Plan& plan, int first, int last, const F& f) {
  auto part = std::upper_bound(plan.parts.begin(), plan.parts.end(), first,
                               [](int task, const Part& p) { return task < p.tasks_before; }) -
              1;
  for (; first < last; ++part) {
    const int begin = first - part->tasks_before, end = std::min(part->units, last - part->tasks_before);
    f(*part, begin, end - begin);
    first = part->tasks_before + end;
  }
}

// Runs f(first, last) over the order of rows, once for each expert.
template <class F>
void each_expert(const Plan& plan, const int32_t* expert, const F& f) {
  const int rows = static_cast<int>(plan.row.size());
  for (int first = 0, last; first < rows; first = last) {
    last = expert ? first + 1 : rows;
    const int e = expert ? expert[plan.row[static_cast<size_t>(first)]] : 0;
    while (last < rows && expert[plan.row[static_cast<size_t>(last)]] == e) ++last;
    f(e, first, last);
  }
}

const PackedMatrix& packed(const Matrix* matrix) { return static_cast<const PackedMatrix&>(*matrix); }

bool use_many(const LinearKernels& kernels, const PackedMatrix& matrix, int rows) {
  return rows >= kernels.many_from && matrix.bits != 16;
}

// Tiles of a task of many rows: enough for what is done once a task to be little, few enough to share out.
int many_unit(const LinearKernels& kernels, const PackedMatrix& matrix, int rows, int threads) {
  const int pieces = (rows + most_rows - 1) / most_rows;
  const int fair = matrix.tiles * pieces / (4 * threads) / kernels.many_together * kernels.many_together;
  return std::clamp(fair, kernels.many_together, most_tiles);
}

void compute(const LinearKernels& kernels, const Plan& plan, const Part& part, int first, int count,
             int outputs, float* const* y) {
  const TileRun run{part.matrix, part.matrix->tile(part.expert, first), count, outputs};
  const InputRow* input = plan.input.data() + part.first;
  (use_many(kernels, *part.matrix, part.rows) ? kernels.many : kernels.few)(run, input, y, part.rows);
}

}  // namespace

void linear(const Linear& op, const LinearKernels& kernels, Pool& pool) {
  thread_local Plan plan;  // keeps its memory
  plan.parts.clear();
  plan.tasks = 0;
  order_rows(plan, op.rows, op.expert);
  plan.input.clear();
  const int inputs = op.outputs[0].matrix->inputs;
  for (const int row : plan.row)
    plan.input.push_back(input_row(op.in, op.x, inputs, row / op.rows_per_input));
  for (const LinearOutput& output : op.outputs) {
    const PackedMatrix& matrix = packed(output.matrix);
    each_expert(plan, op.expert, [&](int expert, int first, int last) {
      const bool many = use_many(kernels, matrix, last - first);
      add_parts(plan, &output, matrix, expert, first, last,
                many ? many_unit(kernels, matrix, op.rows, pool.threads()) : kernels.few_together);
    });
  }
  const Plan& shared = plan;
  pool.run(plan.tasks, [&](int begin, int end) {
    each_part(shared, begin, end, [&](const Part& part, int first, int count) {
      const int tile = first * part.unit, tiles = std::min(count * part.unit, part.matrix->tiles - tile);
      const int from = tile * tile_outputs;
      float* y[most_rows];
      for (int r = 0; r < part.rows; ++r) {
        const int row = shared.row[static_cast<size_t>(part.first + r)];
        y[r] = part.output->y + static_cast<ptrdiff_t>(row) * part.output->stride + from;
      }
      compute(kernels, shared, part, tile, tiles, std::min(tiles * tile_outputs, part.matrix->outputs - from),
              y);
    });
  });
}

void swiglu(const SwiGlu& op, const LinearKernels& kernels, Pool& pool) {
  thread_local Plan plan;
  plan.parts.clear();
  plan.tasks = 0;
  order_rows(plan, op.rows, op.expert);
  plan.input.clear();
  const PackedMatrix& matrix = packed(op.gate_up);
  for (const int row : plan.row)
    plan.input.push_back(input_row(op.in, op.x, matrix.inputs, row / op.rows_per_input));
  // A unit is pairs of tiles that make whole blocks.
  constexpr int most_outputs = 128;
  each_expert(plan, op.expert, [&](int expert, int first, int last) {
    const int few = op.blocks ? op.blocks->group : tile_outputs;
    const int outputs = use_many(kernels, matrix, last - first) ? std::max(few, most_outputs / 2) : few;
    add_parts(plan, nullptr, matrix, expert, first, last, 2 * outputs / tile_outputs);
  });
  const Plan& shared = plan;
  pool.run(plan.tasks, [&](int task) {
    each_part(shared, task, task + 1, [&](const Part& part, int unit, int) {
      const int tile = unit * part.unit, tiles = std::min(part.unit, matrix.tiles - tile);
      const int from = tile / 2 * tile_outputs, n = std::min(tiles / 2 * tile_outputs, matrix.outputs - from);
      alignas(64) float both[most_rows][2 * most_outputs];
      float* y[most_rows];
      for (int r = 0; r < part.rows; ++r) y[r] = both[r];
      compute(kernels, shared, part, tile, tiles, tiles * tile_outputs, y);
      for (int r = 0; r < part.rows; ++r) {
        const int row = shared.row[static_cast<size_t>(part.first + r)];
        float* out = op.out + static_cast<ptrdiff_t>(row) * matrix.outputs + from;
        kernels.swiglu(both[r], out, n);
        if (op.blocks) kernels.blocks(*op.blocks, row, from, n, out - from);
      }
    });
  });
}

void quantize(const Quantize& op, const LinearKernels& kernels, Pool& pool) {
  constexpr int together = 16;  // blocks of a task
  const int blocks = op.blocks.length / op.blocks.group, tasks = (blocks + together - 1) / together;
  pool.run(op.rows * tasks, [&](int task) {
    const int row = task / tasks, first = task % tasks * together;
    const int from = first * op.blocks.group, n = std::min(together, blocks - first) * op.blocks.group;
    kernels.blocks(op.blocks, row, from, n, op.x + static_cast<ptrdiff_t>(row) * op.blocks.length);
  });
}

}  // namespace lockstep::kernels::cpu
