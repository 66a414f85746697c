#include "kernels/cpu/codes_avx2.h"
// The vectors come first.
#include "kernels/cpu/embed.inl"
#include "kernels/cpu/linear.inl"
