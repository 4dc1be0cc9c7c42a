// Layer normalization of the rows of x (rows, n), with an optional weight (n,) and bias (n,).
// "Layer Normalization", Ba, Kiros and Hinton 2016. Without ``mean``, no mean is subtracted: "Root Mean Square
// Layer Normalization", Zhang and Sennrich 2019.

// out = (x - mean) / std * weight + bias; the row's mean and 1 / std are saved for the gradient.
extern "C" __global__ void layer_norm(const real* x, const real* weight, const real* bias, real* out, wide* mean,
                                      wide* inverse_std, double eps, i64 rows, i64 n) {
    EACH_ROW(row, rows) {
        const real* in = x + row * n;
        wide total = 0;
        if (mean) EACH_COLUMN(j, n) total += (wide)in[j];
        wide center = mean ? row_sum(total) / n : (wide)0;
        wide squares = 0;  // around the mean: the mean of squares minus the squared mean would cancel
        EACH_COLUMN(j, n) squares += ((wide)in[j] - center) * ((wide)in[j] - center);
        wide scale = rsqrt(row_sum(squares) / n + (wide)eps);
        if (scale == 0) {  // the squares overflow: divide x by its largest element first
            wide top = 0, part = 0;
            EACH_COLUMN(j, n) top = max(top, abs((wide)in[j] - center));
            top = row_max(top);
            EACH_COLUMN(j, n) part += ((wide)in[j] - center) / top * (((wide)in[j] - center) / top);
            scale = 1 / sqrt(row_sum(part) / n) / top;
        }
        EACH_COLUMN(j, n) {
            wide normal = ((wide)in[j] - center) * scale;
            if (weight) normal *= (wide)weight[j];
            if (bias) normal += (wide)bias[j];
            out[row * n + j] = (real)normal;
        }
        if (threadIdx.x == 0 && mean) mean[row] = center;
        if (threadIdx.x == 0) inverse_std[row] = scale;
    }
}

// With h = g * weight and the normalized x:  dx = (h - mean(h) - normal * mean(h * normal)) / std
extern "C" __global__ void layer_norm_gradient(const real* g, const real* x, const real* weight, const wide* mean,
                                               const wide* inverse_std, real* dx, i64 rows, i64 n) {
    EACH_ROW(row, rows) {
        wide center = mean ? mean[row] : (wide)0, scale = inverse_std[row], total = 0, dot = 0;
        EACH_COLUMN(j, n) {
            wide h = product((wide)g[row * n + j], weight ? (wide)weight[j] : (wide)1);
            total += h;
            dot += h * ((wide)x[row * n + j] - center) * scale;
        }
        total = mean ? row_sum(total) / n : (wide)0;
        dot = row_sum(dot) / n;
        EACH_COLUMN(j, n) {
            wide h = product((wide)g[row * n + j], weight ? (wide)weight[j] : (wide)1);
            wide normal = ((wide)x[row * n + j] - center) * scale;
            dx[row * n + j] = (real)((h - total - normal * dot) * scale);
        }
    }
}

// Column sums: dweight = sum(g * normal), dbias = sum(g), each only if it has an array. A linear layer, which has no x,
// also uses dbias. A block sums 16 columns, and each thread every 64th row, in the same order in every run. Block: 16
// columns, 64 rows.
extern "C" __global__ void __launch_bounds__(1024) layer_norm_parameter_gradients(
    const real* g, const real* x, const wide* mean, const wide* inverse_std, real* dweight, real* dbias, i64 rows,
    i64 n) {
    __shared__ wide of_weight[64][16], of_bias[64][16];
    int y = threadIdx.y, column = threadIdx.x;
    i64 j = (i64)blockIdx.x * 16 + column;
    wide weights = 0, biases = 0;
    for (i64 row = y; j < n && row < rows; row += 64) {
        wide gradient = (wide)g[row * n + j];
        if (dweight) weights += gradient * ((wide)x[row * n + j] - (mean ? mean[row] : (wide)0)) * inverse_std[row];
        biases += gradient;
    }
    of_weight[y][column] = weights, of_bias[y][column] = biases;
    for (int half = 32; half > 0; half /= 2) {
        __syncthreads();
        if (y < half) {
            of_weight[y][column] += of_weight[y + half][column];
            of_bias[y][column] += of_bias[y + half][column];
        }
    }
    if (y == 0 && j < n && dweight) dweight[j] = (real)of_weight[0][column];
    if (y == 0 && j < n && dbias) dbias[j] = (real)of_bias[0][column];
}
