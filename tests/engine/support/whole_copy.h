// A copy of a test model with everything that serving needs, for tests that change some of it.
#pragma once

#include <filesystem>

#include "tests/tools/temporary_directory.h"

namespace lockstep::test {

class WholeCopy {
 public:
  // `positions`: max_position_embeddings of the copy, 0: as it was. The small models were made for 2,048.
  explicit WholeCopy(const std::filesystem::path& model, int positions = 0);

  const std::filesystem::path& directory() const { return directory_.path(); }

 private:
  tools::TemporaryDirectory directory_;
};

}  // namespace lockstep::test
