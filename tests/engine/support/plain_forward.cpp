#include "tests/engine/support/plain_forward.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

namespace lockstep::test {
namespace {

using engine::HostMatrix;
using kernels::ScaleType;

double half_value(uint16_t bits, ScaleType type) {
  if (type == ScaleType::bf16) return std::bit_cast<float>(uint32_t{bits} << 16);
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
  return bits >> 15 ? -size : size;
}

double number_at(const void* array, ScaleType type, size_t i) {
  if (type == ScaleType::fp32) {
    float value;
    std::memcpy(&value, static_cast<const char*>(array) + 4 * i, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, static_cast<const char*>(array) + 2 * i, 2);
  return half_value(bits, type);
}

// One line of a matrix as numbers.
void read_line(const kernels::MatrixSource& s, size_t line, std::vector<double>& w) {
  const size_t inputs = static_cast<size_t>(s.inputs);
  if (s.bits == 16) {
    for (size_t i = 0; i < inputs; ++i) w[i] = number_at(s.weights, ScaleType::bf16, line * inputs + i);
    return;
  }
  const size_t bits = static_cast<size_t>(s.bits), group = static_cast<size_t>(s.group);
  const auto* stream = static_cast<const uint8_t*>(s.weights) + line * inputs * bits / 8;
  for (size_t i = 0; i < inputs; ++i) {
    unsigned code = 0;
    for (size_t b = 0; b < bits; ++b) {
      const size_t bit = i * bits + b;
      code |= (stream[bit / 8] >> bit % 8 & 1u) << b;
    }
    const size_t g = (line * inputs + i) / group;
    w[i] = number_at(s.scales, s.scale_type, g) * code + number_at(s.biases, s.scale_type, g);
  }
}

double dot(const double* a, const double* b, size_t n) {
  double sum[4] = {};
  for (size_t i = 0; i < n; ++i) sum[i % 4] += a[i] * b[i];
  return sum[0] + sum[1] + sum[2] + sum[3];
}

double silu(double x) { return x / (1 + std::exp(-x)); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

size_t size(int n) { return static_cast<size_t>(n); }

}  // namespace

double PlainForward::rounded(double x) const {
  if (!bf16_) return x;
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(x));
  return std::bit_cast<float>((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000);
}

PlainRows PlainForward::embedded(std::span<const int32_t> tokens) const {
  const HostMatrix table = checkpoint_.matrix("model.embed_tokens", c_.vocabulary, c_.hidden);
  PlainRows out(tokens.size(), size(c_.hidden));
  std::vector<double> line(out.length);
  for (size_t r = 0; r < tokens.size(); ++r) {
    read_line(table.source, size(tokens[r]), line);
    for (size_t i = 0; i < out.length; ++i) out.row(r)[i] = rounded(line[i]);
  }
  return out;
}

PlainRows PlainForward::linear(const std::string& module, int outputs, const PlainRows& in, int experts,
                               int expert) const {
  const HostMatrix matrix = checkpoint_.matrix(module, outputs, static_cast<int>(in.length), experts);
  PlainRows out(in.rows, size(outputs));
  std::vector<double> line(in.length);
  for (size_t o = 0; o < out.length; ++o) {
    read_line(matrix.source, size(expert) * out.length + o, line);
    for (size_t r = 0; r < in.rows; ++r) out.row(r)[o] = rounded(dot(line.data(), in.row(r), in.length));
  }
  return out;
}

PlainRows PlainForward::norm(const PlainRows& in, const std::string& tensor) const {
  const std::vector<float> weight = checkpoint_.floats(tensor, static_cast<int64_t>(in.length));
  PlainRows out(in.rows, in.length);
  for (size_t r = 0; r < in.rows; ++r) {
    const double mean = dot(in.row(r), in.row(r), in.length) / static_cast<double>(in.length);
    for (size_t i = 0; i < in.length; ++i)
      out.row(r)[i] = rounded(in.row(r)[i] / std::sqrt(mean + c_.norm_eps) * weight[i]);
  }
  return out;
}

void PlainForward::add(PlainRows& residual, const PlainRows& branch) const {
  for (size_t i = 0; i < residual.x.size(); ++i) residual.x[i] = rounded(residual.x[i] + branch.x[i]);
}

void PlainForward::prepare_head(double* x, const std::vector<float>& weight, size_t position) const {
  const size_t dim = size(c_.head_dim), half = size(c_.rotary_dim / 2);
  const double r = 1 / std::sqrt(dot(x, x, dim) / c_.head_dim + c_.norm_eps);
  for (size_t i = 0; i < dim; ++i) x[i] = rounded(x[i] * r * weight[i]);
  for (size_t i = 0; i < half; ++i) {
    const double frequency = std::pow(c_.rope_theta, -2.0 * static_cast<double>(i) / c_.rotary_dim);
    const double angle = static_cast<double>(position) * frequency, a = x[i], b = x[i + half];
    x[i] = rounded(a * std::cos(angle) - b * std::sin(angle));
    x[i + half] = rounded(b * std::cos(angle) + a * std::sin(angle));
  }
}

PlainRows PlainForward::attention(const std::string& at, const PlainRows& in) const {
  const size_t dim = size(c_.head_dim), heads = size(c_.query_heads), key_heads = size(c_.key_heads);
  PlainRows q = linear(at + "q_proj", c_.query_heads * c_.head_dim * 2, in);
  PlainRows k = linear(at + "k_proj", c_.key_heads * c_.head_dim, in);
  const PlainRows v = linear(at + "v_proj", c_.key_heads * c_.head_dim, in);
  const std::vector<float> q_norm = checkpoint_.floats(at + "q_norm.weight", c_.head_dim);
  const std::vector<float> k_norm = checkpoint_.floats(at + "k_norm.weight", c_.head_dim);
  for (size_t r = 0; r < in.rows; ++r) {
    for (size_t h = 0; h < heads; ++h) prepare_head(q.row(r) + 2 * h * dim, q_norm, r);
    for (size_t h = 0; h < key_heads; ++h) prepare_head(k.row(r) + h * dim, k_norm, r);
  }
  PlainRows out(in.rows, heads * dim);
  std::vector<double> p(in.rows);
  for (size_t r = 0; r < in.rows; ++r)
    for (size_t h = 0; h < heads; ++h) {
      const size_t key = h / (heads / key_heads) * dim;
      for (size_t j = 0; j <= r; ++j)
        p[j] = dot(q.row(r) + 2 * h * dim, k.row(j) + key, dim) / std::sqrt(c_.head_dim);
      const double most = *std::max_element(p.begin(), p.begin() + static_cast<ptrdiff_t>(r) + 1);
      double total = 0;
      std::vector<double> o(dim);
      for (size_t j = 0; j <= r; ++j) {
        const double weight = std::exp(p[j] - most);
        total += weight;
        for (size_t d = 0; d < dim; ++d) o[d] += weight * v.row(j)[key + d];
      }
      for (size_t d = 0; d < dim; ++d)
        out.row(r)[h * dim + d] = rounded(rounded(o[d] / total) * sigmoid(q.row(r)[(2 * h + 1) * dim + d]));
    }
  return linear(at + "o_proj", c_.hidden, out);
}

PlainRows PlainForward::convolved(const std::string& at, const PlainRows& in) const {
  const size_t taps = size(c_.conv_taps);
  const std::vector<float> weight =
      checkpoint_.floats(at + "conv1d.weight", static_cast<int64_t>(in.length * taps));
  PlainRows out(in.rows, in.length);
  for (size_t r = 0; r < in.rows; ++r)
    for (size_t channel = 0; channel < in.length; ++channel) {
      double sum = 0;
      for (size_t back = 0; back < taps && back <= r; ++back)
        sum += weight[channel * taps + taps - 1 - back] * in.row(r - back)[channel];
      out.row(r)[channel] = rounded(silu(sum));
    }
  return out;
}

PlainRows PlainForward::delta(const std::string& at, const PlainRows& in) const {
  const size_t dk = size(c_.delta_key_dim), dv = size(c_.delta_value_dim), heads = size(c_.delta_value_heads);
  const size_t keys = size(c_.delta_key_heads) * dk;
  const PlainRows qkv =
      convolved(at, linear(at + "in_proj_qkv", static_cast<int>(2 * keys + heads * dv), in));
  const PlainRows z = linear(at + "in_proj_z", static_cast<int>(heads * dv), in);
  const PlainRows a = linear(at + "in_proj_a", c_.delta_value_heads, in);
  const PlainRows b = linear(at + "in_proj_b", c_.delta_value_heads, in);
  const std::vector<float> a_log = checkpoint_.floats(at + "A_log", c_.delta_value_heads);
  const std::vector<float> dt_bias = checkpoint_.floats(at + "dt_bias", c_.delta_value_heads);
  const std::vector<float> weight = checkpoint_.floats(at + "norm.weight", c_.delta_value_dim);
  PlainRows out(in.rows, heads * dv);
  for (size_t h = 0; h < heads; ++h) {
    std::vector<double> state(dk * dv), u(dv), o(dv);
    const size_t key = h / (heads / size(c_.delta_key_heads)) * dk;
    for (size_t r = 0; r < in.rows; ++r) {
      const double *q = qkv.row(r) + key, *k = q + keys, *v = qkv.row(r) + 2 * keys + h * dv;
      const double qr = 1 / std::sqrt(dot(q, q, dk) + 1e-6) / std::sqrt(static_cast<double>(dk));
      const double kr = 1 / std::sqrt(dot(k, k, dk) + 1e-6);
      const double decay = std::exp(-std::exp(a_log[h]) * std::log1p(std::exp(a.row(r)[h] + dt_bias[h])));
      std::fill(u.begin(), u.end(), 0.0);
      std::fill(o.begin(), o.end(), 0.0);
      for (size_t i = 0; i < dk; ++i)
        for (size_t j = 0; j < dv; ++j) u[j] += (state[i * dv + j] *= decay) * k[i] * kr;
      for (size_t j = 0; j < dv; ++j) u[j] = sigmoid(b.row(r)[h]) * (v[j] - u[j]);
      for (size_t i = 0; i < dk; ++i)
        for (size_t j = 0; j < dv; ++j) o[j] += (state[i * dv + j] += k[i] * kr * u[j]) * q[i] * qr;
      for (double& value : o) value = rounded(value);
      const double scale = 1 / std::sqrt(dot(o.data(), o.data(), dv) / static_cast<double>(dv) + c_.norm_eps);
      for (size_t j = 0; j < dv; ++j)
        out.row(r)[h * dv + j] = rounded(o[j] * scale * weight[j] * silu(z.row(r)[h * dv + j]));
    }
  }
  return linear(at + "out_proj", c_.hidden, out);
}

PlainRows PlainForward::swiglu(const std::string& at, int inner, const PlainRows& in, int experts,
                               int expert) const {
  PlainRows gate = linear(at + "gate_proj", inner, in, experts, expert);
  const PlainRows up = linear(at + "up_proj", inner, in, experts, expert);
  for (size_t i = 0; i < gate.x.size(); ++i) gate.x[i] = rounded(rounded(silu(gate.x[i])) * up.x[i]);
  return linear(at + "down_proj", c_.hidden, gate, experts, expert);
}

PlainRows PlainForward::experts(const std::string& at, const PlainRows& in) const {
  const PlainRows router = linear(at + "gate", c_.experts, in);
  const PlainRows shared_gate = linear(at + "shared_expert_gate", 1, in);
  PlainRows out = swiglu(at + "shared_expert.", c_.shared_intermediate, in);
  for (size_t r = 0; r < in.rows; ++r)
    for (size_t i = 0; i < out.length; ++i) out.row(r)[i] *= sigmoid(shared_gate.row(r)[0]);
  for (int expert = 0; expert < c_.experts; ++expert) {
    const PlainRows y = swiglu(at + "switch_mlp.", c_.expert_intermediate, in, c_.experts, expert);
    for (size_t r = 0; r < in.rows; ++r) {
      const double* l = router.row(r);
      std::vector<int> order(size(c_.experts));
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [l](int a, int b) { return l[a] > l[b]; });
      order.resize(size(c_.experts_per_token));
      if (std::find(order.begin(), order.end(), expert) == order.end()) continue;
      double total = 0;
      for (const int chosen : order) total += std::exp(l[chosen] - l[order[0]]);
      const double weight = rounded(std::exp(l[expert] - l[order[0]]) / total);
      for (size_t i = 0; i < out.length; ++i) out.row(r)[i] += weight * y.row(r)[i];
    }
  }
  for (double& value : out.x) value = rounded(value);
  return out;
}

std::vector<double> PlainForward::logits(std::span<const int32_t> tokens) const {
  PlainRows residual = embedded(tokens);
  for (size_t i = 0; i < c_.layers.size(); ++i) {
    const std::string at = "model.layers." + std::to_string(i) + ".";
    const PlainRows mixed = norm(residual, at + "input_layernorm.weight");
    add(residual, c_.layers[i] == engine::LayerKind::full_attention ? attention(at + "self_attn.", mixed)
                                                                    : delta(at + "linear_attn.", mixed));
    const PlainRows fed = norm(residual, at + "post_attention_layernorm.weight");
    add(residual, c_.experts ? experts(at + "mlp.", fed) : swiglu(at + "mlp.", c_.intermediate, fed));
  }
  PlainRows last(1, residual.length);
  std::copy_n(residual.row(residual.rows - 1), residual.length, last.row(0));
  return linear(c_.tied_head ? "model.embed_tokens" : "lm_head", c_.vocabulary,
                norm(last, "model.norm.weight"))
      .x;
}

}  // namespace lockstep::test
