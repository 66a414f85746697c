#include "daemon/configuration.h"

#include <fstream>
#include <sstream>

#include "daemon/configuration_keys.h"
#include "tests/catch.h"
#include "tests/daemon/running_app.h"

namespace lockstep::test {
namespace {

using daemon::Configuration;

class Files {
 public:
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((directory_.path / name).parent_path());
    std::ofstream(directory_.path / name) << text;
  }
  std::filesystem::path main() const { return directory_.path / "lockstepd.toml"; }
  Configuration read(bool required = true) const {
    return daemon::read_configuration(main(), required, {main(), "/run/lockstep", "/var/cache/lockstep"});
  }
  std::string failure(const std::string& text) const {
    write("lockstepd.toml", text);
    try {
      read();
    } catch (const daemon::StartFailure& failure) {
      CHECK(failure.status == daemon::ExitStatus::configuration);
      const std::string said = failure.what();
      CHECK(said.starts_with(main().string()));
      return said.substr(main().string().size());
    }
    return "accepted";
  }

 private:
  TemporaryDirectory directory_;
};

TEST_CASE("every key is read, every default is shown") {
  const Files files;
  const Configuration standard = files.read(false);
  CHECK(standard.engine.model == "/usr/share/lockstep/models/starter");
  CHECK(standard.listen == "127.0.0.1:8420");
  CHECK(standard.socket_dir == "/run/lockstep");
  CHECK(standard.engine.snapshots == "/var/cache/lockstep");
  CHECK(standard.engine.snapshot_budget == uint64_t(4) << 30);
  files.write("lockstepd.toml", R"(model = "/srv/models/one/"
device = "cpu"
threads = 4
memory = "12 GiB"
cache = "1 GiB"
snapshots = "/var/cache/one"
snapshot_budget = "512 MiB"
context = 8192
lanes = 3
queue = 0
chunk = 64
listen = "none"
socket_dir = "/tmp/x"
log_level = "debug"
sandbox = "off"
drain_seconds = 5
api_keys = "/etc/keys"
allowed_hosts = ["box.lan", "b"]
allowed_origins = [ "https://a.example:3000" ]
ping_seconds = 0
[sampling]
temperature = 0
top_p = 0.5
top_k = 3
min_p = 0.125
max_tokens = 100
)");
  const Configuration all = files.read();
  std::ostringstream shown;
  daemon::print_configuration(all, shown);
  CHECK(shown.str() == R"(model = "/srv/models/one"
device = "cpu"
threads = 4
memory = "12288 MiB"
cache = "1024 MiB"
snapshots = "/var/cache/one"
snapshot_budget = "512 MiB"
context = 8192
lanes = 3
queue = 0
chunk = 64
listen = "none"
socket_dir = "/tmp/x"
log_level = "debug"
sandbox = "off"
drain_seconds = 5
api_keys = "/etc/keys"
allowed_hosts = ["box.lan","b"]
allowed_origins = ["https://a.example:3000"]
ping_seconds = 0
sampling.temperature = 0
sampling.top_p = 0.5
sampling.top_k = 3
sampling.min_p = 0.125
sampling.max_tokens = 100
)");
  files.write("lockstepd.toml", shown.str());
  std::ostringstream again;
  daemon::print_configuration(files.read(), again);
  CHECK(again.str() == shown.str());
  const engine::Sampling sampling = daemon::with_defaults({}, all.sampling);
  CHECK(sampling.temperature == 0);
  CHECK(sampling.max_tokens == 100);
}

TEST_CASE("drop-ins are read in the order of their names, the last one wins") {
  const Files files;
  files.write("lockstepd.toml", "threads = 1\nlanes = 1\nqueue = 1\n");
  files.write("lockstepd.toml.d/20-b.toml", "threads = 20\n");
  files.write("lockstepd.toml.d/10-a.toml", "threads = 10\nlanes = 10\n");
  files.write("lockstepd.toml.d/99-ignored.toml~", "threads = 99\n");
  const Configuration configuration = files.read();
  CHECK(configuration.engine.threads == 20);
  CHECK(configuration.engine.lanes == 10);
  CHECK(configuration.engine.queue == 1);
  files.write("lockstepd.toml.d/30-c.toml", "\nlane = 1\n");
  CHECK_THROWS_WITH(files.read(), Catch::Contains("30-c.toml:2: unknown key 'lane'; did you mean 'lanes'?"));
}

TEST_CASE("snapshots can be turned off; their place is the service manager's first one") {
  const Files files;
  files.write("lockstepd.toml", "snapshots = \"none\"\n");
  CHECK(files.read().engine.snapshots.empty());
  CHECK(files.failure("snapshot_budget = \"auto\"\n") ==
        ":1: 'snapshot_budget' must be a number of bytes, or a size such as \"12 GiB\", not \"auto\"");
  CHECK(files.failure("snapshots = \"here\"\n") == ":1: 'snapshots' must be an absolute path, not \"here\"");
  const char* before = std::getenv("CACHE_DIRECTORY");
  const std::string saved = before ? before : "";
  setenv("CACHE_DIRECTORY", "/var/cache/one:/var/cache/two", 1);
  CHECK(daemon::default_places().snapshots == "/var/cache/one");
  unsetenv("CACHE_DIRECTORY");
  CHECK(daemon::default_places().snapshots.empty());
  if (before) setenv("CACHE_DIRECTORY", saved.c_str(), 1);
}

TEST_CASE("mistakes name file, line, key and what would be right") {
  const Files files;
  CHECK(files.failure("# x\ncontxt = 5\n") == ":2: unknown key 'contxt'; did you mean 'context'?");
  CHECK(files.failure("[sampling]\ntemprature = 1\n") ==
        ":2: unknown key 'sampling.temprature'; did you mean 'sampling.temperature'?");
  CHECK(files.failure("threads = \"four\"\n") ==
        ":1: 'threads' must be an integer from 0 to 1024, not \"four\"");
  CHECK(files.failure("threads = 1.5\n") == ":1: 'threads' must be an integer from 0 to 1024, not 1.5");
  CHECK(files.failure("threads = true\n") == ":1: 'threads' must be an integer from 0 to 1024, not true");
  CHECK(files.failure("threads = []\n") ==
        ":1: 'threads' must be an integer from 0 to 1024, not an array of strings");
  CHECK(files.failure("allowed_hosts = \"a\"\n").find("'allowed_hosts' must be an array of host names") == 4);
  CHECK(files.failure("allowed_hosts = [1]\n") != "accepted");
  CHECK(files.failure("allowed_hosts = [\"a:80\"]\n").ends_with("without a port, not \"a:80\""));
  CHECK(files.failure("allowed_origins = [\"*\"]\n").ends_with("not \"*\""));
  CHECK(files.failure("api_keys = \"keys\"\n").ends_with("not \"keys\""));
  CHECK(files.failure("lanes = 0\n") == ":1: 'lanes' must be an integer from 1 to 256, not 0");
  CHECK(files.failure("sampling.temperature = nan\n") ==
        ":1: 'sampling.temperature' must be a number from 0 to 2, not null");
  CHECK(files.failure("model = \"models/one\"\n") ==
        ":1: 'model' must be an absolute path, not \"models/one\"");
  CHECK(files.failure("memory = \"lots\"\n") ==
        ":1: 'memory' must be \"auto\", a number of bytes, or a size such as \"12 GiB\", not \"lots\"");
  CHECK(files.failure("memory = \"99999999999999999999 GiB\"\n") != "accepted");
  CHECK(files.failure("memory = \"18446744073709551615 KiB\"\n") != "accepted");
  CHECK(files.failure("log_level = \"loud\"\n") ==
        ":1: 'log_level' must be \"error\", \"warning\", \"info\" or \"debug\", not \"loud\"");
  CHECK(files.failure("sandbox = false\n") == ":1: 'sandbox' must be \"on\" or \"off\", not false");
  CHECK(files.failure("sampling = 3\n") != "accepted");
  CHECK_THAT(files.failure("threads = 1\nthreads = 2\n"), Catch::StartsWith(":2: is not TOML"));
  CHECK_THAT(files.failure("threads = = 2\n"), Catch::StartsWith(":1: is not TOML"));
}

TEST_CASE("a configuration that was named must exist") {
  const Files files;
  CHECK_THROWS_WITH(files.read(true), Catch::Contains("cannot be read (No such file or directory)"));
  CHECK_NOTHROW(files.read(false));
}

TEST_CASE("the table of keys: standards fit their keys, names are unique") {
  for (const daemon::ConfigurationKey& key : daemon::configuration_keys()) {
    INFO(key.name);
    CHECK(daemon::find_key(key.name) == &key);
    CHECK(daemon::nearest_key(std::string(key.name) + "x") == key.name);
    CHECK(!key.help.empty());
  }
}

}  // namespace
}  // namespace lockstep::test
