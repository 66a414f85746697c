#include "daemon/accounts.h"

#include <unistd.h>

#include "daemon/limits.h"
#include "tests/catch.h"

namespace lockstep::test {
namespace {

using daemon::Account;
using daemon::Accounts;
using daemon::Caller;
using daemon::may_see;

TEST_CASE("users see what is their own; root and the daemon's user see all") {
  const Caller root{0, 1}, daemon{geteuid(), 1}, one{1001, 1}, two{1002, 1}, tcp{}, nobody{65534, 1};
  for (const Caller& all : {root, daemon})
    for (const std::optional<uid_t>& whose : {one.uid, two.uid, tcp.uid}) CHECK(may_see(all, whose));
  CHECK(may_see(one, 1001));
  CHECK_FALSE(may_see(one, 1002));
  CHECK_FALSE(may_see(one, 0));
  CHECK_FALSE(may_see(one, std::nullopt));
  CHECK_FALSE(may_see(tcp, std::nullopt));
  CHECK_FALSE(may_see(tcp, 1001));
  CHECK_FALSE(may_see(nobody, 65534));
}

TEST_CASE("accounts are one a user, and told to those who may see them") {
  Accounts accounts;
  const auto one = accounts.of(1001), tcp = accounts.of(std::nullopt);
  one->served = 3;
  CHECK(accounts.of(1001) == one);
  CHECK(accounts.of(std::nullopt) == tcp);
  CHECK(accounts.seen_by({0, 1}).size() == 2);
  REQUIRE(accounts.seen_by({1001, 1}).size() == 1);
  CHECK(accounts.seen_by({1001, 1})[0].served == 3);
  CHECK(accounts.seen_by({1002, 1}).empty());
  CHECK(accounts.seen_by({}).empty());
}

TEST_CASE("users who have not been seen for long are forgotten, never one in use") {
  Accounts accounts;
  const auto used = accounts.of(1);
  accounts.of(2)->served = 9;
  for (uid_t uid = 100; uid < 100 + 2 * daemon::limits::accounts; ++uid) accounts.of(uid);
  CHECK(accounts.seen_by({0, 1}).size() == daemon::limits::accounts);
  CHECK(accounts.of(1) == used);
  CHECK(accounts.of(2)->served == 0);
}

}  // namespace
}  // namespace lockstep::test
