// An array in device memory, owned.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "kernels/kernels.h"

namespace lockstep::engine {

// Zero-filled; freed with the object, which must not outlive the device.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(kernels::Device& device, size_t count)
      : device_(&device),
        data_(count ? static_cast<T*>(device.allocate(count * sizeof(T))) : nullptr),
        count_(count) {}
  DeviceArray(kernels::Device& device, const std::vector<T>& values) : DeviceArray(device, values.size()) {
    upload(values);
  }
  DeviceArray(DeviceArray&& other) noexcept { *this = std::move(other); }
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~DeviceArray() {
    if (data_) device_->release(data_);
  }

  T* data() const { return data_; }
  size_t size() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }
  void upload(std::span<const T> values) {
    if (!values.empty()) device_->upload(data_, values.data(), values.size_bytes());
  }
  std::vector<T> download(size_t from, size_t count) const {
    std::vector<T> values(count);
    device_->download(values.data(), data_ + from, count * sizeof(T));
    return values;
  }

 private:
  kernels::Device* device_ = nullptr;
  T* data_ = nullptr;
  size_t count_ = 0;
};

}  // namespace lockstep::engine
