// Replaces CUDA's header of this name, as far as the kernels need it.
#pragma once
typedef _Float16 __half;
