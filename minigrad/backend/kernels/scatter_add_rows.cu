// out[r] = the sum of the rows g[i] whose index[i] is r: the gradient of an embedding.
//
// ``order`` sorts the indices. A warp adds up 32 of its entries for 32 columns, so a frequent row has many warps. A
// row whose entries all belong to one warp is complete. For other rows, each warp writes its part, and ``across`` adds
// the parts. The order of additions is the same in every run. Block: 32 columns, 8 warps.

#define PLACES 32

// Warp w writes its parts to rows 2 w (if they begin with its first entry) and 2 w + 1 of ``parts`` (2 warps, n).
extern "C" __global__ void scatter_add_rows(const real* g, const i64* index, const i64* order, real* out, wide* parts,
                                            i64 count, i64 rows, i64 n) {
    i64 warp = (i64)blockIdx.x * 8 + threadIdx.y, j = (i64)blockIdx.y * 32 + threadIdx.x;
    i64 start = warp * PLACES, stop = min(start + PLACES, count), first = start;
    wide total = 0;
    for (i64 i = start; j < n && i < stop; ++i) {
        total += (wide)g[order[i] * n + j];
        i64 row = index[order[i]];
        bool ends = i + 1 == count || index[order[i + 1]] != row;
        if (!ends && i + 1 < stop) continue;
        bool begins = first == 0 || index[order[first - 1]] != row;
        if (!begins || !ends) parts[(2 * warp + (first != start)) * n + j] = total;
        else if (row >= 0 && row < rows) out[row * n + j] = (real)total;
        first = i + 1, total = 0;
    }
}

__device__ inline i64 first_not_below(const i64* index, const i64* order, i64 count, i64 value) {
    i64 low = 0, high = count;
    while (low < high) {
        i64 middle = (low + high) / 2;
        if (index[order[middle]] < value) low = middle + 1;
        else high = middle;
    }
    return low;
}

// Add up the parts of rows that have several warps, and write zeros for rows without a warp.
extern "C" __global__ void scatter_add_rows_across(const i64* index, const i64* order, const wide* parts, real* out,
                                                   i64 count, i64 rows, i64 n) {
    i64 row = (i64)blockIdx.x * 8 + threadIdx.y, j = (i64)blockIdx.y * 32 + threadIdx.x;
    if (row >= rows || j >= n) return;
    i64 start = first_not_below(index, order, count, row), stop = first_not_below(index, order, count, row + 1);
    i64 warp = start / PLACES, last = (stop - 1) / PLACES;
    if (start < stop && warp == last) return;
    wide total = 0;
    if (start < stop) total = parts[(2 * warp + (start % PLACES != 0)) * n + j];
    while (start < stop && ++warp <= last) total += parts[2 * warp * n + j];
    out[row * n + j] = (real)total;
}
