#include <fcntl.h>
#include <unistd.h>

#include "ipc/ipc.h"

namespace lockstep::ipc {

void hold_standard_streams() {
  int descriptor = 0;
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = ::open("/dev/null", O_RDONLY);
  if (descriptor >= 0) ::close(descriptor);
}

}  // namespace lockstep::ipc
