// A libcuda.so.1 that finds no GPU, or one of a chip that no program has code for, as FAKE_CUDA says:
// "no-device", "broken" or "chip". A library of its own; it computes nothing.
#include <cstdlib>
#include <cstring>

namespace {

bool says(const char* word) {
  const char* setting = std::getenv("FAKE_CUDA");
  return setting && std::strcmp(setting, word) == 0;
}

int none() { return 801; }  // not supported

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int cuInit(unsigned) { return says("no-device") ? 100 : says("broken") ? 999 : 0; }
int cuGetErrorString(int, const char** words) {
  *words = "unknown error";
  return 0;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
int cuDeviceGet(int* device, int) {
  *device = 0;
  return 0;
}
int cuDeviceGetName(char* name, int, int) {
  std::strcpy(name, "Fake GPU");
  return 0;
}
int cuDeviceGetAttribute(int* value, int, int) {  // compute capability 77.7
  *value = 70;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = reinterpret_cast<void*>(8);
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuMemGetInfo_v2(size_t* free, size_t* total) {
  *free = *total = size_t{1} << 30;
  return 0;
}
int cuStreamCreate(void** stream, unsigned) {
  *stream = reinterpret_cast<void*>(8);
  return 0;
}
int cuStreamDestroy_v2(void*) { return 0; }
int cuMemAlloc_v2() { return none(); }
int cuMemFree_v2() { return none(); }
int cuMemsetD8Async() { return none(); }
int cuMemcpyHtoDAsync_v2() { return none(); }
int cuMemcpyDtoHAsync_v2() { return none(); }
int cuMemcpyDtoDAsync_v2() { return none(); }
int cuStreamSynchronize() { return none(); }
int cuModuleLoadData() { return none(); }
int cuModuleUnload() { return none(); }
int cuModuleGetFunction() { return none(); }
int cuFuncSetAttribute() { return none(); }
int cuLaunchKernelEx() { return none(); }
int cuStreamBeginCapture_v2() { return none(); }
int cuStreamEndCapture() { return none(); }
int cuGraphInstantiateWithFlags() { return none(); }
int cuGraphLaunch() { return none(); }
int cuGraphDestroy() { return none(); }
int cuGraphExecDestroy() { return none(); }
int cuEventCreate() { return none(); }
int cuEventRecord() { return none(); }
int cuEventElapsedTime() { return none(); }
int cuEventDestroy_v2() { return none(); }
}
#pragma GCC visibility pop
