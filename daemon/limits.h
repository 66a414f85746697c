// Every limit on what a client, a configuration or a peer can cause.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace lockstep::daemon::limits {

using namespace std::chrono_literals;

// Connections and HTTP
inline constexpr int connections = 512;                      // open at once, over all listeners
inline constexpr int user_connections = 384;                 // of one user; TCP counts as one
inline constexpr int address_connections = 256;              // of one address, over TCP
inline constexpr int watchers = 32;                          // calls of Status with `more` of one user
inline constexpr std::size_t accounts = 256;                 // users that are remembered
inline constexpr std::size_t header_bytes = 16u << 10;       // request line and header fields
inline constexpr std::size_t body_bytes = 16u << 20;         // one request's body
inline constexpr std::size_t bodies_bytes = 128u << 20;      // bodies of all requests in flight
inline constexpr std::size_t user_bodies_bytes = 64u << 20;  // of one user's
inline constexpr std::size_t small_body_bytes =
    64u << 10;  // up to here a body is not counted: connections bound them
inline constexpr std::size_t drained_bytes = 1u << 20;  // of a refused request's body, to keep the connection
inline constexpr std::chrono::seconds idle = 120s;      // a connection between two requests
inline constexpr std::chrono::seconds header_read =
    10s;  // from the first byte of a request to its header's end
inline constexpr std::chrono::seconds body_read = 60s;  // a whole body
inline constexpr std::chrono::seconds write = 30s;      // one write that makes no end
inline constexpr std::chrono::seconds linger = 2s;      // waiting for a refused client to hang up
inline constexpr std::chrono::milliseconds peer_check =
    50ms;  // how often a waiting request looks for its client
inline constexpr std::chrono::seconds half_closed_probe = 2s;  // how often one that stopped writing is probed
inline constexpr int socket_path_bytes = 107;                  // of a Unix socket (unix(7))

// The engine's loop beats twice a second. Without a beat for so long, or for three quarters of the service
// manager's watchdog time, it is taken for stuck.
inline constexpr std::chrono::seconds stuck = 225s;

// Requests. A quarter of the queue is kept from any one user.
inline constexpr int preparing = 16;  // requests beyond lanes + queue: being read or prepared
inline constexpr std::size_t bridge_bytes = 1u << 20;             // of a reply its client has not taken yet
inline constexpr std::chrono::milliseconds just_come = 250ms;     // for what came just before a stop
inline constexpr std::chrono::seconds last_words = 2s;            // for requests that a stop has cut short
inline constexpr int prepare_threads = 2;                         // templates and tokenizing
inline constexpr int user_prepare_threads = 1;                    // of them, at once
inline constexpr std::size_t tokens_told = 1'000'000;             // in a reply of Tokenize
inline constexpr std::chrono::milliseconds status_pause = 250ms;  // between two replies of Status with `more`
inline constexpr int check_trials = 1000;                         // of each law, in a Check
inline constexpr std::size_t snapshots_told = 10'000;             // in a reply of Snapshots

// JSON
inline constexpr std::size_t json_depth = 64;
inline constexpr std::size_t json_values = 200'000;
inline constexpr std::size_t json_key_bytes = 1024;

// Chat
inline constexpr std::size_t tools = 128;
inline constexpr std::size_t tool_name_bytes = 64;
inline constexpr std::size_t stops = 16;
inline constexpr std::size_t stop_bytes = 256;
inline constexpr int top_logprobs = 20;
inline constexpr std::size_t responses = 1000;             // that are kept
inline constexpr std::size_t responses_bytes = 64u << 20;  // all of them
inline constexpr int choices = 16;                         // replies to one request
inline constexpr std::size_t biases = 1024;                // tokens in logit_bias

// What is said
inline constexpr std::size_t error_bytes = 2048;     // an error's message; it may repeat what the client sent
inline constexpr std::size_t log_line_bytes = 8192;  // one line of the log

// Keys
inline constexpr std::size_t key_label_bytes = 64;

// Configuration
inline constexpr std::size_t configuration_bytes = 1u << 20;  // one file

}  // namespace lockstep::daemon::limits
