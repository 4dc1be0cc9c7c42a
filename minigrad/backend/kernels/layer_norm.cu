// Layer normalization of the rows of x (rows, n), with an optional weight (n,) and bias (n,).
// "Layer Normalization", Ba, Kiros and Hinton 2016.

// out = (x - mean) / std * weight + bias; the row's mean and 1 / std are kept for the gradient.
extern "C" __global__ void layer_norm(const real* x, const real* weight, const real* bias, real* out, wide* mean,
                                      wide* inverse_std, double eps, i64 rows, i64 n) {
    EACH_ROW(row, rows) {
        const real* in = x + row * n;
        wide total = 0;
        EACH_COLUMN(j, n) total += (wide)in[j];
        wide center = row_sum(total) / n;
        wide squares = 0;  // about the mean: the mean of squares less the squared mean would cancel
        EACH_COLUMN(j, n) squares += ((wide)in[j] - center) * ((wide)in[j] - center);
        wide scale = rsqrt(row_sum(squares) / n + (wide)eps);
        EACH_COLUMN(j, n) {
            wide normal = ((wide)in[j] - center) * scale;
            if (weight) normal *= (wide)weight[j];
            if (bias) normal += (wide)bias[j];
            out[row * n + j] = (real)normal;
        }
        if (threadIdx.x == 0) {
            mean[row] = center;
            inverse_std[row] = scale;
        }
    }
}

// With h = g * weight and the normalized x:  dx = (h - mean(h) - normal * mean(h * normal)) / std
extern "C" __global__ void layer_norm_gradient(const real* g, const real* x, const real* weight, const wide* mean,
                                               const wide* inverse_std, real* dx, i64 rows, i64 n) {
    EACH_ROW(row, rows) {
        wide center = mean[row], scale = inverse_std[row], total = 0, dot = 0;
        EACH_COLUMN(j, n) {
            wide h = (wide)g[row * n + j] * (weight ? (wide)weight[j] : (wide)1);
            total += h;
            dot += h * ((wide)x[row * n + j] - center) * scale;
        }
        total = row_sum(total) / n;
        dot = row_sum(dot) / n;
        EACH_COLUMN(j, n) {
            wide h = (wide)g[row * n + j] * (weight ? (wide)weight[j] : (wide)1);
            wide normal = ((wide)x[row * n + j] - center) * scale;
            dx[row * n + j] = (real)((h - total - normal * dot) * scale);
        }
    }
}

// Sums down the columns: dweight = sum(g * normal), dbias = sum(g). Each block adds up a stripe of 32 columns
// over every gridDim.y-th row, and leaves it in its row of partial sums (gridDim.y, n), added up afterwards in
// a fixed order: no atomic additions, whose order would change from run to run. Block: 32 columns, 8 rows.
extern "C" __global__ void layer_norm_parameter_gradients(const real* g, const real* x, const wide* mean,
                                                          const wide* inverse_std, wide* dweight, wide* dbias,
                                                          i64 rows, i64 n) {
    __shared__ wide sums[2][8][32];
    i64 j = (i64)blockIdx.x * 32 + threadIdx.x;
    wide of_weight = 0, of_bias = 0;
    for (i64 row = (i64)blockIdx.y * 8 + threadIdx.y; j < n && row < rows; row += (i64)gridDim.y * 8) {
        wide gradient = (wide)g[row * n + j];
        of_weight += gradient * ((wide)x[row * n + j] - mean[row]) * inverse_std[row];
        of_bias += gradient;
    }
    sums[0][threadIdx.y][threadIdx.x] = of_weight;
    sums[1][threadIdx.y][threadIdx.x] = of_bias;
    __syncthreads();
    if (threadIdx.y < 2 && j < n) {
        wide total = 0;
        for (int k = 0; k < 8; ++k) total += sums[threadIdx.y][k][threadIdx.x];
        (threadIdx.y ? dbias : dweight)[blockIdx.y * n + j] = total;
    }
}
