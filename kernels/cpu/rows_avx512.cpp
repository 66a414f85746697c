#include "kernels/cpu/vector_avx512.h"
// The vectors come first.
#include "kernels/cpu/candidates.inl"
#include "kernels/cpu/experts.inl"
#include "kernels/cpu/norm.inl"
#include "kernels/cpu/scaled_exp.inl"
