// out[r] = the sum of the rows g[i] whose index[i] is r: the gradient of an embedding.
//
// The indices come sorted, with where each stood before (order). So the rows that one block adds up lie between
// two places of the sorted indices, and are added in the same order in every run. Block: 32 columns, 8 rows.

__device__ inline i64 first_not_below(const i64* sorted, i64 count, i64 value) {
    i64 low = 0, high = count;
    while (low < high) {
        i64 middle = (low + high) / 2;
        if (sorted[middle] < value) low = middle + 1;
        else high = middle;
    }
    return low;
}

extern "C" __global__ void scatter_add_rows(const real* g, const i64* sorted, const i64* order, real* out, i64 count,
                                            i64 rows, i64 n) {
    __shared__ wide sums[8][32];
    for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
        i64 start = first_not_below(sorted, count, row), stop = first_not_below(sorted, count, row + 1);
        for (i64 stripe = 0; stripe < n; stripe += 32) {
            i64 j = stripe + threadIdx.x;
            wide total = 0;
            for (i64 i = start + threadIdx.y; j < n && i < stop; i += 8) total += (wide)g[order[i] * n + j];
            sums[threadIdx.y][threadIdx.x] = total;
            __syncthreads();
            if (threadIdx.y == 0 && j < n) {
                for (int k = 1; k < 8; ++k) total += sums[k][threadIdx.x];
                out[row * n + j] = (real)total;
            }
            __syncthreads();
        }
    }
}
