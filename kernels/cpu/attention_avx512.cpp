#include "kernels/cpu/dot_avx512.h"
// The vectors come first.
#include "kernels/cpu/attention.inl"
#include "kernels/cpu/attention_inputs.inl"
