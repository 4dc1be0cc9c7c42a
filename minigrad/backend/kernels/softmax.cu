// softmax and log-softmax of the rows of x, and their gradients: all (rows, n).

// out = exp(x) / sum(exp(x)). A row of nothing but -inf gives zeros, not NaN.
extern "C" __global__ void softmax(const real* x, real* out, i64 rows, i64 n) {
    EACH_ROW(row, rows) {
        const real* in = x + row * n;
        wide largest = -INFINITE;
        EACH_COLUMN(j, n) largest = fmax(largest, (wide)in[j]);
        largest = row_max(largest);
        if (largest == -INFINITE) largest = 0;
        wide total = 0;
        EACH_COLUMN(j, n) total += exp((wide)in[j] - largest);
        total = row_sum(total);
        if (total == 0) total = 1;
        EACH_COLUMN(j, n) out[row * n + j] = (real)(exp((wide)in[j] - largest) / total);
    }
}

// out = x - log(sum(exp(x)))
extern "C" __global__ void log_softmax(const real* x, real* out, i64 rows, i64 n) {
    EACH_ROW(row, rows) {
        const real* in = x + row * n;
        wide largest = -INFINITE;
        EACH_COLUMN(j, n) largest = fmax(largest, (wide)in[j]);
        largest = row_max(largest);
        wide total = 0;
        EACH_COLUMN(j, n) total += exp((wide)in[j] - largest);
        wide log_total = log(row_sum(total));
        EACH_COLUMN(j, n) out[row * n + j] = (real)((wide)in[j] - largest - log_total);
    }
}

// dx = out * (g - sum(g * out))
extern "C" __global__ void softmax_gradient(const real* g, const real* out, real* dx, i64 rows, i64 n) {
    EACH_ROW(row, rows) {
        wide dot = 0;
        EACH_COLUMN(j, n) dot += (wide)g[row * n + j] * (wide)out[row * n + j];
        dot = row_sum(dot);
        EACH_COLUMN(j, n) {
            i64 i = row * n + j;
            dx[i] = (real)((wide)out[i] * ((wide)g[i] - dot));
        }
    }
}

// dx = g - exp(out) * sum(g)
extern "C" __global__ void log_softmax_gradient(const real* g, const real* out, real* dx, i64 rows, i64 n) {
    EACH_ROW(row, rows) {
        wide total = 0;
        EACH_COLUMN(j, n) total += (wide)g[row * n + j];
        total = row_sum(total);
        EACH_COLUMN(j, n) {
            i64 i = row * n + j;
            dx[i] = (real)((wide)g[i] - exp((wide)out[i]) * total);
        }
    }
}
