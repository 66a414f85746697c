// The operations of one instruction set, and the table of them.

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {

void embed(const Embed&, Pool&);
void norm(const Norm&, Pool&);
void quantize(const Quantize&, Pool&);
void linear(const Linear&, Pool&);
void swiglu(const SwiGlu&, Pool&);
void attention_inputs(const AttentionInputs&, Pool&);
void attention(const Attention&, Pool&);
void kv_read(const KvRead&, Pool&);
void convolution(const Convolution&, Pool&);
void convolution_replay(const ConvolutionReplay&, Pool&);
void delta_rule(const DeltaRule&, Pool&);
void delta_replay(const DeltaReplay&, Pool&);
void router(const Router&, Pool&);
void combine_experts(const CombineExperts&, Pool&);
void gather(const Gather&, Pool&);
void candidates(const Candidates&, Pool&);
void scaled_exp(const float* x, int n, float maximum, float temperature, float* out);

namespace {

constexpr Functions make_table() {
  Functions f;
  f.kv_page_bytes = kv_page_bytes;
  f.embed = embed;
  f.norm = norm;
  f.quantize = quantize;
  f.linear = linear;
  f.swiglu = swiglu;
  f.attention_inputs = attention_inputs;
  f.attention = attention;
  f.kv_read = kv_read;
  f.convolution = convolution;
  f.convolution_replay = convolution_replay;
  f.delta_rule = delta_rule;
  f.delta_replay = delta_replay;
  f.router = router;
  f.combine_experts = combine_experts;
  f.gather = gather;
  f.candidates = candidates;
  f.scaled_exp = scaled_exp;
  return f;
}
constexpr Functions table = make_table();

}  // namespace
}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
