// No template and no conversation may crash or hang its thread.
#include <pthread.h>

#include <random>

#include "tests/catch.h"
#include "tests/engine/chat/golden.h"

namespace lockstep::engine {
namespace {

std::string render(const std::string& source) { return golden::render(source, {}); }

bool refused(const std::string& source) { return render(source).rfind("refused: ", 0) == 0; }

std::string repeated(const std::string& part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

// The stack that Template::render() is said to need; the sanitizers' frames are several times larger.
#ifdef __SANITIZE_ADDRESS__
constexpr size_t stack_bytes = size_t{16} << 20;
#else
constexpr size_t stack_bytes = size_t{2} << 20;
#endif

template <class F>
void with_small_stack(F run) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t thread;
  const auto start = [](void* argument) -> void* {
    (*static_cast<F*>(argument))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, start, &run) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace

TEST_CASE("numbers that a format cannot take are refused") {
  for (const char* source :
       {"{{ '%.*d' % (10 ** 15, 1) }}", "{{ '%*d' % (-2 ** 63, 1) }}", "{{ '%*d' % (2 ** 21, 1) }}",
        "{{ '{:c}'.format(1114112) }}", "{{ '{:c}'.format(55296) }}", "{{ '{:c}'.format(65.0) }}",
        "{{ '{:c}'.format(2 ** 70) }}", "{{ '%c' % -1 }}"}) {
    INFO(source);
    CHECK(refused(source));
  }
  CHECK(render("{{ '%*d|%-*d|%.*d|%c|{:c}'.format(8364) % (-3, 1, 3, 2, 3, 7, 65) }}") == "1  |2  |007|A|€");
}

TEST_CASE("nesting without end is refused on a small stack") {
  std::vector<std::string> accepted;
  with_small_stack([&] {
    for (const std::string& source : {
             "{{ " + repeated("(", 5000) + "1" + repeated(")", 5000) + " }}",
             "{{ " + repeated("[", 5000) + "1" + repeated("]", 5000) + " }}",
             "{{ " + repeated("-", 5000) + "1 }}",
             "{{ " + repeated("not ", 5000) + "1 }}",
             "{{ 1" + repeated(" + 1", 5000) + " }}",
             "{{ 1" + repeated(" if 1 else 1", 5000) + " }}",
             "{{ x" + repeated(".x", 5000) + " }}",
             "{{ ''" + repeated(" | upper", 5000) + " }}",
             "{{ x" + repeated("()", 5000) + " }}",
             "{% filter upper" + repeated(" | upper", 5000) + " %}{% endfilter %}",
             repeated("{% if 1 %}", 5000),
             repeated("{% for x in [1] %}", 150) + repeated("{% endfor %}", 150),
             std::string("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"),
             std::string("{% macro f() %}{% call f() %}{{ caller() }}{% endcall %}{% endmacro %}{{ f() }}"),
             "{% macro f() %}" + repeated("{% if 1 %}", 90) + "{{ " + repeated("(1 and ", 150) + "f()" +
                 repeated(")", 150) + " }}" + repeated("{% endif %}", 90) + "{% endmacro %}{{ f() }}",
             std::string("{% for x in [[]] recursive %}{{ loop([[]]) }}{% endfor %}"),
             std::string("{% set ns = namespace(x=[]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% "
                         "endfor %}"),
             std::string("{% set ns = namespace(x={}) %}{% for i in range(9999) %}{% set ns.x = {'k': ns.x} "
                         "%}{% endfor %}"),
             std::string("{% set ns = namespace(x='') %}{% for i in range(9999) %}{% set ns.x = [ns.x].index "
                         "%}{% endfor %}"),
             std::string("{% set ns = namespace() %}{% set ns.self = ns %}{{ ns }}"),
             std::string(
                 "{% set a = namespace() %}{% set b = namespace(a=[a]) %}{% set a.b = {'b': b} %}{{ a }}"),
         })
      if (!refused(source)) accepted.push_back(source.substr(0, 100));
    // Deep, but within the limits.
    for (const std::string& source :
         {"{{ " + repeated("(", 150) + "1" + repeated(")", 150) + " }}",
          repeated("{% if 1 %}", 90) + "1" + repeated("{% endif %}", 90),
          std::string("{% macro f(n) %}{{ 1 if n == 0 else f(n - 1) }}{% endmacro %}{{ f(100) }}")})
      if (render(source) != "1") accepted.push_back("refused " + source.substr(0, 100) + render(source));
  });
  CHECK(accepted == std::vector<std::string>{});
}

TEST_CASE("work and memory without end are refused") {
  // What is not refused, or not linear, would run into the test's time limit.
  CHECK(refused("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}"));
  CHECK(refused("{{ 'x' * 99999999 }}"));
  CHECK(refused("{{ [1] * 99999999 }}"));
  CHECK(
      refused("{% set ns = namespace(x='xxxxxxxx') %}{% for i in range(64) %}{% set ns.x = ns.x + ns.x %}{% "
              "endfor %}"));
  CHECK(refused(
      "{% set ns = namespace(x=[1]) %}{% for i in range(64) %}{% set ns.x = ns.x + ns.x %}{% endfor %}"));
  CHECK(refused("{% for i in range(100000) %}{{ 'x' * 1000 }}{% endfor %}"));
  CHECK(refused("{{ '%999999999d' % 1 }}"));
  CHECK(refused("{{ '{:999999999}'.format(1) }}"));
  CHECK(refused("{{ 'x'.center(999999999) }}"));
  CHECK(refused("{{ 'x' | indent(999999999, true) }}"));
  CHECK(refused("{{ [1] | batch(999999999, 0) | list }}"));
  CHECK(refused("{{ [1] | slice(999999999) | list }}"));
  CHECK(refused("{{ ('x' * 9999999) | list | length }}"));
  // Searches that a plain loop would take hours for.
  const std::string needle = "{% set s = 'a' * 400000 %}{% set n = 'a' * 100000 %}";
  CHECK(render(needle + "{{ s.find(n ~ 'b') }}{{ s.rfind('b' ~ n) }}{{ (n ~ 'b') in s }}") == "-1-1False");
  CHECK(render(needle +
               "{{ s.rfind(n) }} {{ s.count(n) }} {{ s.replace(n, 'x') }} {{ s.split(n ~ 'b') | length }}") ==
        "300000 4 xxxx 1");
  CHECK(render(needle + "{{ ('-' * 100000) | wordwrap(9) | length }}") == "111111");
  CHECK(refused("{{ '%.9999f' % 1 }}"));
  CHECK(refused("{{ 99999999999999999999 * 2 }}"));
  CHECK(refused("{{ 2 ** 64 }}"));
  CHECK(refused("{{ -9223372036854775807 - 2 }}"));
  CHECK(render("{{ -9223372036854775807 - 1 }} {{ 99999999999999999999 }}") ==
        "-9223372036854775808 99999999999999999999");
  CHECK(render("{{ 'x'[-9223372036854775807:9223372036854775807] }}{{ 'ab'[::-9223372036854775807] }}") ==
        "xb");
}

TEST_CASE("damaged templates never crash") {
  std::vector<std::string> sources;
  for (const auto& file : std::filesystem::directory_iterator(golden::data / "styles"))
    sources.push_back(golden::read(file.path()));
  std::sort(sources.begin(), sources.end());
  sources.push_back(golden::read(golden::starter / "chat_template.jinja"));
  const language::Value root = golden::json(golden::read(golden::data / "language.json"));
  for (const language::Value& one : root.dict().find("cases")->items())
    sources.push_back(golden::text_of(one.dict().find("template")));
  const language::Dict& context = root.dict().find("context")->dict();
  const std::vector<std::string> parts = {"{{",     "}}",  "{%",     "%}",   "{#",       "#}", "-",    "|",
                                          "(",      ")",   "[",      "]",    ".",        "'",  " in ", " if ",
                                          " else ", "for", "endfor", "loop", "0",        "~",  "%",    "**",
                                          ":",      ",",   "x",      "\xff", "\xe4\xbd", "\n"};
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    std::string source = sources[seed % 3 == 0 ? random() % 9 % sources.size() : random() % sources.size()];
    for (unsigned i = random() % 6 + 1; i > 0; --i) {
      const size_t at = random() % (source.size() + 1), count = random() % 12;
      switch (random() % 4) {
        case 0: source.erase(at, count); break;
        case 1: source.insert(at, parts[random() % parts.size()]); break;
        case 2: source.insert(at, source.substr(random() % (source.size() + 1), count * 4)); break;
        default:
          if (at < source.size()) source[at] = static_cast<char>(random());
      }
    }
    INFO("seed " << seed);
    const std::string text = golden::render(source, context);
    CHECK(text.size() < (size_t{64} << 20) + 100);
  }
}

}  // namespace lockstep::engine
