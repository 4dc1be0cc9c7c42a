// Dropout, and the operations beside it in the same pass. "Dropout", Srivastava et al. 2014.

// out = base + x * scale where x is kept, else base. Without a base that is 0; with ``rectify``, x is max(x, 0) first.
extern "C" __global__ void dropout(const real* x, const real* base, real* out, i64 rectify, const bool* keep, i64 seed,
                                   i64 bound, double scale, i64 count) {
    EACH_ELEMENT(i, count) {
        wide v = (wide)x[i];
        if (rectify && v <= 0) v = 0;  // NaN stays
        v *= is_kept(keep, seed, bound, i) ? (wide)scale : (wide)0;
        out[i] = (real)(base ? (wide)base[i] + v : v);
    }
}

// dx = g * scale where the result y is positive, else 0
extern "C" __global__ void rectified_gradient(const real* g, const real* y, real* dx, double scale, i64 count) {
    EACH_ELEMENT(i, count) dx[i] = (real)((wide)g[i] * (y[i] > (real)0 ? (wide)scale : (wide)0));
}
