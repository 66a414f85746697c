#include "engine/sampling/form/form_filter.h"

#include <algorithm>

namespace lockstep::engine {

bool FormFilter::allows(int32_t token) {
  if (std::ranges::find(ends_, token) != ends_.end()) return matcher_.complete();
  return !tokenizer_.special(token) && matcher_.allows(tokenizer_.bytes(token));
}

void FormFilter::accept(int32_t token) {
  if (std::ranges::find(ends_, token) == ends_.end()) matcher_.advance(tokenizer_.bytes(token));
}

}  // namespace lockstep::engine
