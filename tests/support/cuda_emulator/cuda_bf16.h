// Replaces CUDA's header of this name, as far as the kernels need it.
#pragma once
#include <cstring>

struct __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    __nv_bfloat16(float value) {  // round to nearest, ties to even
        unsigned wide;
        std::memcpy(&wide, &value, 4);
        bool is_nan = (wide & 0x7fffffff) > 0x7f800000;
        bits = is_nan ? (wide >> 16) | 0x40 : (wide + 0x7fff + (wide >> 16 & 1)) >> 16;
    }
    operator float() const {
        unsigned wide = (unsigned)bits << 16;
        float value;
        std::memcpy(&value, &wide, 4);
        return value;
    }
};
