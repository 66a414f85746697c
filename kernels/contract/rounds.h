// Rounds of several lanes for the contract's cases.
#pragma once

#include "kernels/contract/cases.h"

namespace lockstep::kernels::contract {

struct Lane {
  int first_position;
  int rows;
  bool keep = true;  // or leave the recurrent state as it was
  int replay = 0;    // rows kept by a replay
};

// Lanes with page tables in shuffled order over one pool and shuffled state slots, some of both unused.
class RoundPlan {
 public:
  RoundPlan(Data& data, std::vector<Lane> lanes);

  // The round of some of the lanes, in the order given, for the operation itself or for its replay.
  Round put(Stage&, const std::vector<int>& units, bool replay = false) const;
  // The rounds' positions before each lane's own: what must be in the pages already. No rows when there are
  // none.
  Round put_context(Stage&, const std::vector<int>& units) const;

  const std::vector<Lane>& lanes() const { return lanes_; }
  std::vector<std::vector<int>> rows() const;  // of the round, of each lane
  int slots() const { return static_cast<int>(lanes_.size()) + 2; }
  int pool_pages() const { return pool_pages_; }
  const std::vector<int32_t>& pages(int lane) const { return pages_[static_cast<size_t>(lane)]; }

 private:
  Round put_lanes(Stage&, const std::vector<Lane>&, const std::vector<int>& units, bool replay) const;

  std::vector<Lane> lanes_;
  std::vector<std::vector<int32_t>> pages_;
  std::vector<int32_t> slot_;
  int pool_pages_ = 0;
};

}  // namespace lockstep::kernels::contract
