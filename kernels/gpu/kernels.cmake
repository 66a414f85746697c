# Compiles the GPU kernels (*.hip) for each chip and puts the code objects into a target. A build without nvcc
# or without clang 19 has no code for those chips and says so when such a device is asked for.

find_program(LOCKSTEP_NVCC nvcc HINTS /usr/local/cuda/bin /opt/cuda/bin DOC "CUDA's compiler, 12.3 or later")
find_program(LOCKSTEP_HIP_CLANG NAMES clang++-19 clang++-20 clang++-21 clang++-22 amdclang++
  HINTS /opt/rocm/bin /opt/rocm/lib/llvm/bin DOC "clang 19 or later with lld, for AMD chips")
set(found_nvcc OFF)
if(LOCKSTEP_NVCC)
  set(found_nvcc ON)
endif()
find_program(LOCKSTEP_HIP_LINKER NAMES ld.lld-19 ld.lld-20 ld.lld-21 ld.lld-22 ld.lld
  HINTS /opt/rocm/lib/llvm/bin DOC "lld, which that clang links with")
set(found_hip_clang OFF)
if(LOCKSTEP_HIP_CLANG AND LOCKSTEP_HIP_LINKER)
  set(found_hip_clang ON)
endif()
option(LOCKSTEP_CUDA "Code for NVIDIA GPUs (needs nvcc)" ${found_nvcc})
option(LOCKSTEP_HIP "Code for AMD GPUs (needs clang 19 and lld 19)" ${found_hip_clang})
set(LOCKSTEP_CUDA_CHIPS sm_90 CACHE STRING "NVIDIA chips to make code for")
set(LOCKSTEP_HIP_CHIPS gfx1030 gfx1100 gfx1151 gfx1201 CACHE STRING "AMD chips to make code for")
if(LOCKSTEP_CUDA AND NOT LOCKSTEP_NVCC)
  message(FATAL_ERROR "LOCKSTEP_CUDA needs nvcc; set LOCKSTEP_NVCC or turn LOCKSTEP_CUDA off")
endif()
if(LOCKSTEP_HIP AND NOT LOCKSTEP_HIP_CLANG)
  message(FATAL_ERROR "LOCKSTEP_HIP needs clang 19 and lld 19; set LOCKSTEP_HIP_CLANG or turn LOCKSTEP_HIP off")
endif()

enable_language(ASM)

# Contraction would change bits; -nogpuinc and -nogpulib: no ROCm is needed. Version 5 code objects load on
# ROCm 5.2 to 7. -fuse-cuid=none: no name that depends on the folder of the build.
set(lockstep_nvcc_flags -std=c++20 -x cu -O3 -fmad=false -cubin)
set(lockstep_hip_flags -std=c++20 -x hip -O3 -ffp-contract=off -nogpuinc -nogpulib --offload-device-only
  --no-gpu-bundle-output -mcode-object-version=5 -fuse-cuid=none -Wall -Wextra -Werror)

# A source is FILE or FILE:MACRO=VALUE; the second form is compiled with the macro.
function(lockstep_gpu_kernels target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/gpu)
  set(list "")
  set(assembly "  .section .rodata\n")
  set(objects "")
  set(chips "")
  if(LOCKSTEP_CUDA)
    list(APPEND chips ${LOCKSTEP_CUDA_CHIPS})
  endif()
  if(LOCKSTEP_HIP)
    list(APPEND chips ${LOCKSTEP_HIP_CHIPS})
  endif()
  foreach(chip IN LISTS chips)
    foreach(source IN LISTS ARGN)
      string(REPLACE ":" ";" parts ${source})
      list(GET parts 0 file)
      string(REGEX REPLACE "[.]hip$" "" name ${file})
      set(definition "")
      list(LENGTH parts count)
      if(count GREATER 1)
        list(GET parts 1 definition)
        string(REGEX REPLACE ".*=" "" value ${definition})
        set(name ${name}_${value})
        set(definition -D${definition})
      endif()
      set(input ${CMAKE_CURRENT_SOURCE_DIR}/gpu/${file})
      set(output ${folder}/${chip}/${name}.bin)
      file(MAKE_DIRECTORY ${folder}/${chip})
      if(chip MATCHES "^sm_")
        set(command ${LOCKSTEP_NVCC} ${lockstep_nvcc_flags} -arch=${chip})
      else()
        set(command ${LOCKSTEP_HIP_CLANG} ${lockstep_hip_flags} --offload-arch=${chip} -c)
      endif()
      add_custom_command(OUTPUT ${output} DEPENDS ${input} DEPFILE ${output}.d VERBATIM
        COMMENT "Kernels ${name} for ${chip}"
        COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${command} ${definition} -I${PROJECT_SOURCE_DIR} -MD -MF ${output}.d
          -MT ${output} ${input} -o ${output})
      list(APPEND objects ${output})
      set(symbol lockstep_${chip}_${name})
      string(APPEND assembly "  .balign 4096\n${symbol}:\n  .incbin \"${output}\"\n${symbol}_end:\n")
      string(APPEND list "  .quad ${symbol}_chip, ${symbol}_name, ${symbol}, ${symbol}_end\n")
      string(APPEND assembly "${symbol}_chip: .asciz \"${chip}\"\n${symbol}_name: .asciz \"${name}\"\n")
    endforeach()
  endforeach()
  # The table holds addresses: it may need relocation, so it cannot be read-only.
  file(CONFIGURE OUTPUT ${folder}/code_objects.S @ONLY CONTENT "${assembly}
  .section .data.rel.ro.local, \"aw\"
  .balign 8
  .globl lockstep_code_objects, lockstep_code_objects_end
lockstep_code_objects:
${list}lockstep_code_objects_end:
  .section .note.GNU-stack, \"\", @progbits
")
  set_source_files_properties(${folder}/code_objects.S PROPERTIES OBJECT_DEPENDS "${objects}")
  target_sources(${target} PRIVATE ${folder}/code_objects.S)
endfunction()
