#include "kernels/cpu/vector_avx2.h"
// The vectors come first.
#include "kernels/cpu/convolution.inl"
#include "kernels/cpu/delta.inl"
