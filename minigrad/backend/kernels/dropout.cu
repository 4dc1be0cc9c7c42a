// out = x * scale where keep, else 0. "Dropout", Srivastava et al. 2014.

extern "C" __global__ void dropout(const real* x, const bool* keep, real* out, double scale, i64 count) {
    EACH_ELEMENT(i, count) out[i] = (real)((wide)x[i] * (keep[i] ? (wide)scale : (wide)0));
}
