#include "kernels/cpu/codes_avx2.h"
//
#include "kernels/cpu/embed.inl"
#include "kernels/cpu/linear.inl"
