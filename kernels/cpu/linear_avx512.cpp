#include "kernels/cpu/codes_avx512.h"
// The vectors come first.
#include "kernels/cpu/embed.inl"
#include "kernels/cpu/linear.inl"
