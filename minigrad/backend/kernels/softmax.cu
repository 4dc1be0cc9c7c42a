// softmax and log-softmax of the rows of x, and their gradients: all (rows, n).

// out = exp(x) / sum(exp(x)). A row that is all -inf becomes zeros, not NaN.
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
        wide others = 0, equal = 0;  // separate sums: added to one of the largest (1), the others would lose digits
        EACH_COLUMN(j, n) {
            wide power = exp((wide)in[j] - largest);
            if (power == 1) equal += 1;
            else others += power;
        }
        wide log_total = log1p(row_sum(others) + (row_sum(equal) - 1));
        EACH_COLUMN(j, n) out[row * n + j] = (real)((wide)in[j] - largest - log_total);
    }
}

// dx = out * (d - sum(d * out)), d = g - sum(g * out): see the op's rule
extern "C" __global__ void softmax_gradient(const real* g, const real* out, real* dx, i64 rows, i64 n) {
    EACH_ROW(row, rows) {
        wide dot = 0;
        EACH_COLUMN(j, n) dot += (wide)g[row * n + j] * (wide)out[row * n + j];
        dot = row_sum(dot);
        wide again = 0;
        EACH_COLUMN(j, n) again += ((wide)g[row * n + j] - dot) * (wide)out[row * n + j];
        again = row_sum(again);
        if (!(fabs(again) < INFINITE)) again = 0;  // after an infinite dot product
        EACH_COLUMN(j, n) {
            i64 i = row * n + j;
            dx[i] = (real)((wide)out[i] * (((wide)g[i] - dot) - again));
        }
    }
}

// dx = g - exp(out) * sum(g), from exp(out) - 1 where that is more precise and the sum is finite
extern "C" __global__ void log_softmax_gradient(const real* g, const real* out, real* dx, i64 rows, i64 n) {
    EACH_ROW(row, rows) {
        wide total = 0;
        EACH_COLUMN(j, n) total += (wide)g[row * n + j];
        total = row_sum(total);
        wide bound = fabs(total) < INFINITE ? (wide)-0.6931 : INFINITE;
        EACH_COLUMN(j, n) {
            i64 i = row * n + j;
            wide y = (wide)out[i], upstream = (wide)g[i];
            dx[i] = (real)(y > bound ? (upstream - total) - expm1(y) * total : upstream - exp(y) * total);
        }
    }
}
