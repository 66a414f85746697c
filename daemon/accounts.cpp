#include "daemon/accounts.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "daemon/limits.h"

namespace lockstep::daemon {
namespace {

constexpr uid_t unnamed = 65534;  // /proc/sys/kernel/overflowuid

}  // namespace

bool may_see(const Caller& who, const std::optional<uid_t>& whose) {
  if (!who.uid) return false;
  return *who.uid == 0 || *who.uid == geteuid() || (*who.uid != unnamed && who.uid == whose);
}

std::shared_ptr<Account> Accounts::of(const std::optional<uid_t>& uid) {
  const auto known = std::ranges::find(accounts_, uid, [](const auto& account) { return account->uid; });
  if (known != accounts_.end()) {
    accounts_.splice(accounts_.begin(), accounts_, known);
    return accounts_.front();
  }
  if (accounts_.size() >= limits::accounts) {
    const auto unused =
        std::find_if(accounts_.rbegin(), accounts_.rend(), [](const auto& a) { return a.use_count() == 1; });
    if (unused != accounts_.rend()) accounts_.erase(std::next(unused).base());
  }
  accounts_.push_front(std::make_shared<Account>());
  accounts_.front()->uid = uid;
  return accounts_.front();
}

std::vector<Account> Accounts::seen_by(const Caller& who) const {
  std::vector<Account> seen;
  for (const auto& account : accounts_)
    if (may_see(who, account->uid)) seen.push_back(*account);
  std::ranges::sort(seen, {}, &Account::uid);
  return seen;
}

}  // namespace lockstep::daemon
