#include "kernels/contract/rounds.h"

#include <algorithm>

namespace lockstep::kernels::contract {

RoundPlan::RoundPlan(Data& data, std::vector<Lane> lanes) : lanes_(std::move(lanes)) {
  constexpr int unused = 3;
  for (const Lane& lane : lanes_) {
    pool_pages_ += (lane.first_position + lane.rows + page_positions - 1) / page_positions;
  }
  pool_pages_ += unused;
  const std::vector<int32_t> shuffled = data.permutation(pool_pages_);
  auto next = shuffled.begin();
  for (const Lane& lane : lanes_) {
    const int n = (lane.first_position + lane.rows + page_positions - 1) / page_positions;
    pages_.emplace_back(next, next + n);
    next += n;
  }
  slot_ = data.permutation(slots());
}

std::vector<std::vector<int>> RoundPlan::rows() const {
  std::vector<std::vector<int>> rows;
  int next = 0;
  for (const Lane& lane : lanes_) {
    rows.emplace_back();
    for (int i = 0; i < lane.rows; ++i) rows.back().push_back(next++);
  }
  return rows;
}

Round RoundPlan::put(Stage& stage, const std::vector<int>& units, bool replay) const {
  return put_lanes(stage, lanes_, units, replay);
}

Round RoundPlan::put_context(Stage& stage, const std::vector<int>& units) const {
  std::vector<Lane> before = lanes_;
  for (Lane& lane : before) lane = {0, lane.first_position};
  std::vector<int> some;
  for (const int unit : units) {
    if (before[static_cast<size_t>(unit)].rows > 0) some.push_back(unit);
  }
  return some.empty() ? Round{} : put_lanes(stage, before, some, false);
}

Round RoundPlan::put_lanes(Stage& stage, const std::vector<Lane>& lanes, const std::vector<int>& units,
                           bool replay) const {
  std::vector<Sequence> sequences;
  std::vector<int32_t> position, row_sequence, tables;
  Round round;
  for (const int unit : units) {
    const auto u = static_cast<size_t>(unit);
    const Lane& lane = lanes[u];
    const int keep = replay ? lane.replay : (lane.keep ? lane.rows : 0);
    const auto index = static_cast<int32_t>(sequences.size());
    sequences.push_back(
        {round.rows, lane.rows, lane.first_position, static_cast<int32_t>(tables.size()), slot_[u], keep});
    tables.insert(tables.end(), pages_[u].begin(), pages_[u].end());
    for (int i = 0; i < lane.rows; ++i) {
      position.push_back(lane.first_position + i);
      row_sequence.push_back(index);
    }
    round.rows += lane.rows;
    round.most_rows = std::max(round.most_rows, lane.rows);
    round.most_positions = std::max(round.most_positions, lane.first_position + lane.rows);
  }
  round.sequences = static_cast<int>(sequences.size());
  round.sequence = stage.input(sequences);
  round.position = stage.input(position);
  round.row_sequence = stage.input(row_sequence);
  round.pages = stage.input(tables);
  return round;
}

}  // namespace lockstep::kernels::contract
