// The GPU's kernels, compiled for the host.
#include "kernels/gpu/attention.hip"
#include "kernels/gpu/attention_inputs.hip"
#include "kernels/gpu/candidates.hip"
#include "kernels/gpu/delta.hip"
#include "kernels/gpu/linear_dense.hip"
#include "kernels/gpu/rows.hip"
#include "kernels/gpu/weights.hip"

#define LOCKSTEP_BITS 2
#include "kernels/gpu/linear_codes.hip"
#undef LOCKSTEP_BITS
#define LOCKSTEP_BITS 3
#include "kernels/gpu/linear_codes.hip"
#undef LOCKSTEP_BITS
#define LOCKSTEP_BITS 4
#include "kernels/gpu/linear_codes.hip"
#undef LOCKSTEP_BITS
#define LOCKSTEP_BITS 5
#include "kernels/gpu/linear_codes.hip"
#undef LOCKSTEP_BITS
#define LOCKSTEP_BITS 6
#include "kernels/gpu/linear_codes.hip"
#undef LOCKSTEP_BITS
#define LOCKSTEP_BITS 8
#include "kernels/gpu/linear_codes.hip"
