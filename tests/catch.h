// One include for both major versions of Catch2 (Debian 12 has 2.13, Debian 13 has 3).
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
