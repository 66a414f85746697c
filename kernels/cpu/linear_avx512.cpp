#include "kernels/cpu/codes_avx512.h"
//
#include "kernels/cpu/embed.inl"
#include "kernels/cpu/linear.inl"
