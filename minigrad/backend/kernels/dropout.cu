// Dropout, optionally after ReLU in the same pass. "Dropout", Srivastava et al. 2014.

// out = x * scale where x is kept, else 0 with its sign. With ``rectify``, x is max(x, 0) first.
extern "C" __global__ void dropout(const real* x, real* out, i64 rectify, const bool* keep, i64 seed, i64 bound,
                                   double scale, i64 count) {
    EACH_ELEMENT(i, count) {
        wide v = is_kept(keep, seed, bound, i) ? (wide)x[i] * (wide)scale : copysign((wide)0, (wide)x[i]);
        out[i] = (real)(rectify && v <= 0 ? (wide)0 : v);  // NaN stays NaN
    }
}

// dx = 0 where the result y is 0, else g * scale
extern "C" __global__ void rectified_gradient(const real* g, const real* y, real* dx, double scale, i64 count) {
    EACH_ELEMENT(i, count) dx[i] = (real)(y[i] == (real)0 ? (wide)0 : (wide)g[i] * (wide)scale);
}
