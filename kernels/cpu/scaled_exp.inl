// exp of a row of logits, for the sampler. Included by rows_*.cpp.

namespace lockstep::kernels::cpu::LOCKSTEP_ISA {

void scaled_exp(const float* x, int n, float maximum, float temperature, float* out) {
  const Floats most = broadcast(maximum), divisor = broadcast(temperature);
  for (int i = 0; i < n; i += lanes) store_within(out, i, n, exp((load_within(x, i, n) - most) / divisor));
}

}  // namespace lockstep::kernels::cpu::LOCKSTEP_ISA
