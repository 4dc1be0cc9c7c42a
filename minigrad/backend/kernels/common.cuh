// Stands before every kernel: the number formats, and sums over the threads that share a row.
// REAL_BITS is given by the compile command: 16, 32 or 64.

#if REAL_BITS == 16
#include <cuda_fp16.h>
typedef __half real;   // what is stored
typedef float wide;    // what is computed with
#elif REAL_BITS == 32
typedef float real;
typedef float wide;
#else
typedef double real;
typedef double wide;
#endif
typedef long long i64;

#define INFINITE ((wide)__int_as_float(0x7f800000))
#define WHOLE_WARP 0xffffffffu
#ifndef DYNAMIC_SHARED
#define DYNAMIC_SHARED(type, name) extern __shared__ type name[]
#endif

// Loops that leave no work over however few blocks there are. A row belongs to the blockDim.x threads that
// have one threadIdx.y: a single warp, or else (then blockDim.y is 1) the whole block.
#define EACH_ELEMENT(i, count) \
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < (count); i += (i64)gridDim.x * blockDim.x)
#define EACH_ROW(row, rows) \
    for (i64 row = (i64)blockIdx.x * blockDim.y + threadIdx.y; row < (rows); row += (i64)gridDim.x * blockDim.y)
#define EACH_COLUMN(j, columns) for (i64 j = threadIdx.x; j < (columns); j += blockDim.x)

struct Sum {};
struct Max {};
__device__ inline wide combine(Sum, wide a, wide b) { return a + b; }
__device__ inline wide combine(Max, wide a, wide b) { return a > b ? a : b; }

// Combine one value of each thread of a row; every thread gets the result. The tree of additions also keeps
// rounding errors small.
template <class How>
__device__ inline wide over_row(How how, wide value) {
    for (int step = 16; step > 0; step /= 2)
        value = combine(how, value, __shfl_xor_sync(WHOLE_WARP, value, step));
    if (blockDim.x == 32) return value;
    __shared__ wide of_warp[32];
    __syncthreads();  // nobody still reads the values of the call before
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warp[0];
    for (int warp = 1; warp < blockDim.x / 32; ++warp) value = combine(how, value, of_warp[warp]);
    return value;
}
__device__ inline wide row_sum(wide value) { return over_row(Sum(), value); }
__device__ inline wide row_max(wide value) { return over_row(Max(), value); }
