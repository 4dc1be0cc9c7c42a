// Root-mean-square normalization of the rows of x (rows, n), with an optional weight (n,).
// "Root Mean Square Layer Normalization", Zhang and Sennrich 2019.

// out = x / rms * weight; the row's 1 / rms is kept for the gradient.
extern "C" __global__ void rms_norm(const real* x, const real* weight, real* out, wide* inverse_rms, double eps,
                                    i64 rows, i64 n) {
    EACH_ROW(row, rows) {
        const real* in = x + row * n;
        wide squares = 0;
        EACH_COLUMN(j, n) squares += (wide)in[j] * (wide)in[j];
        wide scale = rsqrt(row_sum(squares) / n + (wide)eps);
        EACH_COLUMN(j, n) out[row * n + j] = (real)((wide)in[j] * scale * (weight ? (wide)weight[j] : (wide)1));
        if (threadIdx.x == 0) inverse_rms[row] = scale;
    }
}

// With h = g * weight and the normalized x:  dx = (h - normal * mean(h * normal)) / rms
extern "C" __global__ void rms_norm_gradient(const real* g, const real* x, const real* weight,
                                             const wide* inverse_rms, real* dx, i64 rows, i64 n) {
    EACH_ROW(row, rows) {
        wide scale = inverse_rms[row], dot = 0;
        EACH_COLUMN(j, n) {
            wide h = (wide)g[row * n + j] * (weight ? (wide)weight[j] : (wide)1);
            dot += h * (wide)x[row * n + j] * scale;
        }
        dot = row_sum(dot) / n;
        EACH_COLUMN(j, n) {
            wide h = (wide)g[row * n + j] * (weight ? (wide)weight[j] : (wide)1);
            dx[row * n + j] = (real)((h - (wide)x[row * n + j] * scale * dot) * scale);
        }
    }
}

// dweight = sum(g * normal) down the columns, in two fixed stages: see layer_norm.cu.
extern "C" __global__ void rms_norm_weight_gradient(const real* g, const real* x, const wide* inverse_rms,
                                                    wide* dweight, i64 rows, i64 n) {
    __shared__ wide sums[8][32];
    i64 j = (i64)blockIdx.x * 32 + threadIdx.x;
    wide total = 0;
    for (i64 row = (i64)blockIdx.y * 8 + threadIdx.y; j < n && row < rows; row += (i64)gridDim.y * 8)
        total += (wide)g[row * n + j] * (wide)x[row * n + j] * inverse_rms[row];
    sums[threadIdx.y][threadIdx.x] = total;
    __syncthreads();
    if (threadIdx.y == 0 && j < n) {
        for (int k = 1; k < 8; ++k) total += sums[k][threadIdx.x];
        dweight[blockIdx.y * n + j] = total;
    }
}
