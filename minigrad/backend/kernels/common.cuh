// Prepended to every kernel: the number formats, and sums over the threads that share a row.
// The compile command defines REAL_BITS: 16, 32 or 64; with 16, REAL_BFLOAT selects bfloat16.

#if REAL_BITS == 16
#ifdef REAL_BFLOAT
#include <cuda_bf16.h>
typedef __nv_bfloat16 real;  // memory
#else
#include <cuda_fp16.h>
typedef __half real;
#endif
typedef float wide;  // arithmetic
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

// A product that is never fused into an FMA, so that two products of the same factors are bitwise identical.
__device__ inline float product(float a, float b) { return __fmul_rn(a, b); }
__device__ inline double product(double a, double b) { return __dmul_rn(a, b); }

// Loops that do all the work with any number of blocks. A row belongs to the blockDim.x threads with the same
// threadIdx.y: a single warp, or else (when blockDim.y is 1) the whole block.
#define EACH_ELEMENT(i, count) \
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < (count); i += (i64)gridDim.x * blockDim.x)
#define EACH_ROW(row, rows) \
    for (i64 row = (i64)blockIdx.x * blockDim.y + threadIdx.y; row < (rows); row += (i64)gridDim.x * blockDim.y)
#define EACH_COLUMN(j, columns) for (i64 j = threadIdx.x; j < (columns); j += blockDim.x)

// A block's part of many tensors (many_cuda.py): a row of addresses, elements [first, stop), and the parts of that row,
// [lead, end) among all parts, of which this one has index ``which``.
#define MANY real* const* table, const i64* parts, i64 columns, i64 before
#define MY_PART part_of(table, parts, columns, before)
#define EACH_OF_PART(i, part) for (i64 i = part.first + threadIdx.x; i < part.stop; i += blockDim.x)
struct Part {
    real* const* row;
    i64 first, stop, lead, end, which;
};
__device__ inline Part part_of(real* const* table, const i64* parts, i64 columns, i64 before) {
    const i64* p = parts + 5 * (i64)blockIdx.x;
    return {table + columns * p[0], p[1], p[2], before + p[3], before + p[4], before + blockIdx.x};
}

// Whether dropout keeps element i: by a mask if there is one, otherwise if 16 bits of a hash (the words of random.py)
// are at least ``bound``.
__device__ inline bool is_kept(const bool* mask, i64 seed, i64 bound, i64 i) {
    if (mask || !bound) return !mask || mask[i];
    unsigned long long z = (unsigned long long)seed + (unsigned long long)(i / 4 + 1) * 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    return (i64)(z >> 16 * (i % 4) & 0xffff) >= bound;
}

// An array (batch, heads, length, width) with its strides, and the part for head number ``head`` of all heads.
#define STRIDED(x) x, i64 x##_batch, i64 x##_head, i64 x##_row
#define OF_HEAD(x) x + head / heads * x##_batch + head % heads * x##_head, x##_row

struct Sum {};
struct Max {};
template <class T> __device__ inline T combine(Sum, T a, T b) { return a + b; }
template <class T> __device__ inline T combine(Max, T a, T b) { return a > b ? a : b; }

// Combine one value per thread of a row; every thread gets the result. The tree of additions also keeps
// rounding errors small.
template <class How, class T>
__device__ inline T over_row(How how, T value) {
    for (int step = 16; step > 0; step /= 2)
        value = combine(how, value, __shfl_xor_sync(WHOLE_WARP, value, step));
    if (blockDim.x == 32) return value;
    __shared__ T of_warp[32];
    __syncthreads();  // all threads have read the previous call's values
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warp[0];
    for (int warp = 1; warp < blockDim.x / 32; ++warp) value = combine(how, value, of_warp[warp]);
    return value;
}
__device__ inline wide row_sum(wide value) { return over_row(Sum(), value); }
__device__ inline wide row_max(wide value) { return over_row(Max(), value); }
