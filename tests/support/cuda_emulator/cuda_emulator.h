// Runs CUDA kernels on the CPU, for tests: compiled (g++ -include) before a kernel's source.
//
// Each CUDA thread is a fiber with a separate stack. Blocks run one after the other. A fiber runs until it waits
// for its warp (shuffles, __syncwarp) or its block (__syncthreads), then the next fiber of the warp runs. A warp
// runs by itself as far as it can, and the order of warps, and of fibers in a warp, changes all the time (equally
// in every run): a kernel without a necessary __syncthreads soon reads a wrong value. Shared memory is NaN at the
// start of a block.
// These are errors: threads that wait for threads that have ended or wait elsewhere, writing past the end of
// dynamic shared memory, launches beyond CUDA's limits.
#pragma once
#include <csetjmp>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <utility>
#ifdef __SSE__
#include <xmmintrin.h>
#endif
#ifdef EMULATOR_BFLOAT
#include "cuda_bf16.h"
#endif

#define __global__
#define __device__ static
#define __forceinline__ inline
#define __shared__ static __attribute__((section("shared_memory")))
#define __launch_bounds__(...)
#define DYNAMIC_SHARED(type, name) type* name = (type*)emulator::dynamic_shared

extern char __start_shared_memory[] __attribute__((weak, visibility("hidden")));
extern char __stop_shared_memory[] __attribute__((weak, visibility("hidden")));

struct dim3 {
    unsigned x, y, z;
};
static dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulator {

enum State { READY, AT_WARP, AT_BLOCK, ENDED };
struct Fiber {
    jmp_buf place;
    ucontext_t start;
    bool started = false;
    State state = READY;
    dim3 thread = {};
    int shuffles = 0;  // how many this thread has run: selects one of the two slots
};

constexpr int MOST_THREADS = 1024, STACK_BYTES = 64 * 1024, GUARD_BYTES = 16 * 1024;
constexpr unsigned char POISON = 0xff;  // a NaN in every floating point format
static Fiber* fibers = nullptr;
static char* stacks = nullptr;
static jmp_buf scheduler;
static ucontext_t scheduler_start;
static int current, thread_count;
static char slots[2][MOST_THREADS][16];  // values that are exchanged within a warp
static char* dynamic_shared;
static void (*body)(void**);
static void** arguments;
static char message[256];

static void leave(State why) {  // return to the scheduler until it resumes this fiber
    fibers[current].state = why;
    if (!_setjmp(fibers[current].place)) _longjmp(scheduler, 1);
}

static void fiber_main() {
    for (;;) {
        body(arguments);
        leave(ENDED);
    }
}

static void enter(int which) {
    Fiber& fiber = fibers[which];
    current = which;
    threadIdx = fiber.thread;
    if (_setjmp(scheduler)) return;
    if (fiber.started) _longjmp(fiber.place, 1);
    fiber.started = true;
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = stacks + (size_t)which * STACK_BYTES;
    fiber.start.uc_stack.ss_size = STACK_BYTES;
    fiber.start.uc_link = nullptr;
    makecontext(&fiber.start, fiber_main, 0);
    setcontext(&fiber.start);
}

static int waiting(int from, int to, State state) {
    int count = 0;
    for (int i = from; i < to; ++i) count += fibers[i].state == state;
    return count;
}

static void release(int from, int to) {
    for (int i = from; i < to; ++i) fibers[i].state = READY;
}

// The i-th of ``count`` in an order with any start and direction (count: a power of 2 or small).
static int shuffled(int i, int count, unsigned order) {
    int step = order & 1 ? count - 1 : 1;
    return (int)((order >> 1) % count + (unsigned)i * step) % count;
}

static unsigned next_order() {
    static unsigned state = 1;
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static void run_warp(int from) {
    do {
        unsigned order = next_order();
        for (int i = 0; i < 32; ++i) {
            int which = from + shuffled(i, 32, order);
            if (fibers[which].state == READY) enter(which);
        }
        if (waiting(from, from + 32, AT_WARP) != 32) return;
        release(from, from + 32);
    } while (true);
}

static const char* run_block() {
    for (;;) {
        unsigned order = next_order();
        for (int i = 0; i < thread_count / 32; ++i) run_warp(32 * shuffled(i, thread_count / 32, order));
        if (waiting(0, thread_count, ENDED) == thread_count) return nullptr;
        if (waiting(0, thread_count, AT_BLOCK) != thread_count) break;
        release(0, thread_count);
    }
    snprintf(message, sizeof message,
             "deadlock in block %u: %d threads wait at __syncthreads, %d in a warp, %d have ended", blockIdx.x,
             waiting(0, thread_count, AT_BLOCK), waiting(0, thread_count, AT_WARP),
             waiting(0, thread_count, ENDED));
    for (int i = 0; i < thread_count; ++i) fibers[i].started = false;
    return message;
}

static const char* run(const unsigned* grid, const unsigned* block, size_t shared_bytes, void (*kernel)(void**),
                       void** args) {
    blockDim = {block[0], block[1], block[2]};
    gridDim = {grid[0], grid[1], grid[2]};
    thread_count = block[0] * block[1] * block[2];
    body = kernel, arguments = args;
    if (!fibers) {
        fibers = new Fiber[MOST_THREADS];
        stacks = (char*)malloc((size_t)MOST_THREADS * STACK_BYTES);
    }
    dynamic_shared = (char*)malloc(shared_bytes + GUARD_BYTES);
    const char* error = nullptr;
    for (unsigned z = 0; z < grid[2] && !error; ++z)
        for (unsigned y = 0; y < grid[1] && !error; ++y)
            for (unsigned x = 0; x < grid[0] && !error; ++x) {
                blockIdx = {x, y, z};
                if (__start_shared_memory)
                    memset(__start_shared_memory, POISON, __stop_shared_memory - __start_shared_memory);
                memset(dynamic_shared, POISON, shared_bytes + GUARD_BYTES);
                for (int i = 0; i < thread_count; ++i) {
                    unsigned n = i;
                    fibers[i].thread = {n % block[0], n / block[0] % block[1], n / block[0] / block[1]};
                    fibers[i].state = READY;
                    fibers[i].shuffles = 0;
                }
                error = run_block();
                for (int i = 0; i < GUARD_BYTES && !error; ++i)
                    if ((unsigned char)dynamic_shared[shared_bytes + i] != POISON)
                        error = "a thread wrote past the end of dynamic shared memory";
            }
    free(dynamic_shared);
    return error;
}

// A kernel's parameter types as text, which the launch checks: 'f' float, '*f' pointer to float, ...
template <class T> struct Code;
#define EMULATOR_CODE(type, letter) template <> struct Code<type> { static void add(char*& to) { *to++ = letter; } };
EMULATOR_CODE(float, 'f')
EMULATOR_CODE(double, 'd')
EMULATOR_CODE(bool, '?')
EMULATOR_CODE(int, 'i')
EMULATOR_CODE(long long, 'q')
EMULATOR_CODE(unsigned int, 'I')
EMULATOR_CODE(unsigned long long, 'Q')
EMULATOR_CODE(unsigned char, 'B')
#ifdef EMULATOR_BFLOAT
EMULATOR_CODE(__nv_bfloat16, 'E')
#endif
#ifdef EMULATOR_HALF
EMULATOR_CODE(_Float16, 'e')
#endif
template <class T> struct Code<const T> : Code<T> {};
template <class T> struct Code<T*> {
    static void add(char*& to) { *to++ = '*', Code<T>::add(to); }
};
template <class... P> const char* signature(void (*)(P...)) {
    static char text[2 * sizeof...(P) + 1];
    char* to = text;
    (Code<P>::add(to), ...);
    return text;
}
template <class... P, size_t... I>
void spread(void (*kernel)(P...), void** args, std::index_sequence<I...>) {
    kernel(*(std::remove_const_t<P>*)args[I]...);
}
template <class... P> void call(void (*kernel)(P...), void** args) {
    spread(kernel, args, std::index_sequence_for<P...>());
}


// CuPy compiles with -ftz=true: floats below the smallest normal one are read and written as 0.
struct Flushing {
#if defined(__SSE__) && REAL_BITS < 64  // x86 would also flush doubles
    unsigned before = _mm_getcsr();
    Flushing() { _mm_setcsr(before | 0x8040); }
    ~Flushing() { _mm_setcsr(before); }
#endif
};

}  // namespace emulator

#define EMULATOR_KERNEL(name)                                                                          \
    extern "C" const char* signature_##name() { return emulator::signature(name); }                    \
    extern "C" const char* launch_##name(const unsigned* grid, const unsigned* block, size_t shared,   \
                                         void** args) {                                                \
        emulator::Flushing flushing;                                                                   \
        return emulator::run(grid, block, shared, [](void** a) { emulator::call(name, a); }, args);    \
    }

static inline void __syncthreads() { emulator::leave(emulator::AT_BLOCK); }
static inline void __syncwarp(unsigned = 0xffffffffu) { emulator::leave(emulator::AT_WARP); }

// Two alternating slots: no thread can be two shuffles ahead, so a value is read before it is overwritten.
template <class T> static T emulator_from_lane(T value, int lane) {
    static_assert(sizeof(T) <= 16);
    int me = emulator::current, turn = emulator::fibers[me].shuffles++ & 1;
    memcpy(emulator::slots[turn][me], &value, sizeof(T));
    emulator::leave(emulator::AT_WARP);
    memcpy(&value, emulator::slots[turn][lane >= 0 && lane < 32 ? (me & ~31) + lane : me], sizeof(T));
    return value;
}
template <class T> static T __shfl_xor_sync(unsigned, T value, int mask) {
    return emulator_from_lane(value, (emulator::current & 31) ^ mask);
}
template <class T> static T __shfl_down_sync(unsigned, T value, int delta) {
    return emulator_from_lane(value, (emulator::current & 31) + delta);
}
template <class T> static T __shfl_sync(unsigned, T value, int lane) { return emulator_from_lane(value, lane); }

static inline float __int_as_float(int bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline float rsqrt(float x) { return 1 / sqrtf(x); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }
static inline float __fmul_rn(float a, float b) {
    volatile float product = a * b;
    return product;
}
static inline double __dmul_rn(double a, double b) {
    volatile double product = a * b;
    return product;
}
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
using std::erf;
using std::exp;
using std::fmax;
using std::fmin;
using std::log;
using std::max;
using std::min;
using std::pow;
using std::sqrt;
using std::tanh;
