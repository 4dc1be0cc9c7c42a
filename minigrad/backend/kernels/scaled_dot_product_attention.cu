// Attention without the (queries, keys) matrix in memory: softmax(q k^T * scale + mask) v, tile by tile.
// "FlashAttention", Dao et al. 2022, and "FlashAttention-2", Dao 2023, whose loop order is used here.
//
// Arrays are (batch, heads, length, width), with any strides, except along the last axis. HEAD is the larger width of
// q and v, rounded up to 16; TILE is the number of queries and of keys in a tile. A block is 16 x 16 threads;
// thread (tx, ty) handles the rows ty, ty + 16, ... of a tile and the columns tx, tx + 16, ... BLOCKS blocks share a
// multiprocessor. With 128 registers, a thread spills nothing unless it has wide or many numbers.

#define SIDE 16
#define PER (TILE / SIDE)      // rows of a tile, and columns of scores, per thread
#define COLUMNS (HEAD / SIDE)  // columns of the result per thread
#define PITCH (HEAD + 1)       // numbers from one row of a tile to the next: odd, to avoid bank conflicts
#define SCORE_PITCH (TILE + 1)
#define EACH_OWN(i, count) _Pragma("unroll") for (int i = 0; i < count; ++i)  // unrolled: arrays stay in registers
#define HALF_WARP_EACH(step) for (int step = SIDE / 2; step > 0; step /= 2)
#define BLOCKS (REAL_BITS < 64 && TILE * HEAD <= 4096 ? 2 : 1)

// Masking parameters: a bool mask, an additive mask or none, with its strides; dropout, whose random numbers begin at
// index ``drawn``; causality.
struct Attention {
    const bool* allowed;
    const real* added;
    i64 stride_i, stride_j;
    const bool* keep;
    i64 seed, bound, drawn, queries, keys, causal;
    wide scale, keep_scale;
};

#define ATTENTION_PARAMETERS                                                                                  \
    const bool *allowed, const real *added, i64 stride_b, i64 stride_h, i64 stride_i, i64 stride_j,           \
        const bool *keep, i64 seed, i64 bound, i64 heads, i64 queries, i64 keys, i64 width, i64 value_width,  \
        i64 causal, double scale, double keep_scale

// The part of these parameters for head number ``head`` (of batch head / heads).
#define ATTENTION_OF(head)                                                                                    \
    {allowed ? allowed + (head) / heads * stride_b + (head) % heads * stride_h : 0,                           \
     added ? added + (head) / heads * stride_b + (head) % heads * stride_h : 0,                               \
     stride_i, stride_j, keep, seed, bound, (head) * queries * keys, queries, keys, causal, (wide)scale,      \
     (wide)keep_scale}

__device__ inline wide masked_score(const Attention& a, i64 i, i64 j, wide dot) {
    if (i >= a.queries || j >= a.keys || (a.causal && j > i)) return -INFINITE;
    if (a.allowed && !a.allowed[i * a.stride_i + j * a.stride_j]) return -INFINITE;
    return dot * a.scale + (a.added ? (wide)a.added[i * a.stride_i + j * a.stride_j] : (wide)0);
}

__device__ inline wide dropout_factor(const Attention& a, i64 i, i64 j) {
    if (i >= a.queries || j >= a.keys) return 1;
    return is_kept(a.keep, a.seed, a.bound, a.drawn + i * a.keys + j) ? a.keep_scale : (wide)0;
}

// TILE rows of an array (rows, n) from row ``first`` on; the rest are zeros.
__device__ inline void load_tile(const real* from, i64 pitch, i64 first, i64 rows, i64 n, wide* tile) {
    for (int at = threadIdx.y * SIDE + threadIdx.x; at < TILE * HEAD; at += SIDE * SIDE) {
        int row = at / HEAD, column = at % HEAD;
        bool inside = first + row < rows && column < n;
        tile[row * PITCH + column] = inside ? (wide)from[(first + row) * pitch + column] : (wide)0;
    }
}

// dots[i][j] = row i of x times row j of y, for this thread's rows and columns
__device__ inline void multiply_rows(const wide* x, const wide* y, wide (&dots)[PER][PER]) {
    EACH_OWN(i, PER)
        EACH_OWN(j, PER) dots[i][j] = 0;
    for (int d = 0; d < HEAD; ++d) {
        wide left[PER], right[PER];
        EACH_OWN(i, PER) left[i] = x[(threadIdx.y + i * SIDE) * PITCH + d];
        EACH_OWN(j, PER) right[j] = y[(threadIdx.x + j * SIDE) * PITCH + d];
        EACH_OWN(i, PER)
            EACH_OWN(j, PER) dots[i][j] += left[i] * right[j];
    }
}

// sums += scores y, or with ``along`` and ``across`` exchanged, scores^T y; scores are (TILE, TILE)
__device__ inline void add_product(const wide* scores, int along, int across, const wide* y,
                                   wide (&sums)[PER][COLUMNS]) {
    for (int k = 0; k < TILE; ++k) {
        wide left[PER];
        EACH_OWN(i, PER) left[i] = scores[(threadIdx.y + i * SIDE) * along + k * across];
        EACH_OWN(c, COLUMNS) {
            wide right = y[k * PITCH + threadIdx.x + c * SIDE];
            EACH_OWN(i, PER) sums[i][c] += left[i] * right;
        }
    }
}

// Write this thread's part of a tile of results, times a factor, to an array (rows, n) from row ``first`` on.
__device__ inline void store_tile(const wide (&sums)[PER][COLUMNS], wide factor, real* to, i64 pitch,
                                  i64 first, i64 rows, i64 n) {
    EACH_OWN(i, PER)
        EACH_OWN(c, COLUMNS) {
            i64 row = first + threadIdx.y + i * SIDE, column = threadIdx.x + c * SIDE;
            if (row < rows && column < n) to[row * pitch + column] = (real)(sums[i][c] * factor);
        }
}

// The result, and lse, the logarithm of each row's sum of exponentials, from which the backward passes recompute the
// probabilities. A row that may not attend to any key gets zeros, and an lse of +inf, for probabilities of 0.
extern "C" __global__ void __launch_bounds__(SIDE* SIDE, BLOCKS) attention(
    const real* STRIDED(q), const real* STRIDED(k), const real* STRIDED(v), real* STRIDED(out), wide* lse,
    ATTENTION_PARAMETERS) {
    DYNAMIC_SHARED(wide, shared);
    wide *q_tile = shared, *kv_tile = q_tile + TILE * PITCH, *scores = kv_tile + TILE * PITCH;
    i64 tiles = (queries + TILE - 1) / TILE, head = blockIdx.x / tiles, first = blockIdx.x % tiles * TILE;
    Attention a = ATTENTION_OF(head);
    wide sums[PER][COLUMNS] = {}, largest[PER], total[PER];
    EACH_OWN(i, PER) largest[i] = -INFINITE, total[i] = 0;
    load_tile(OF_HEAD(q), first, queries, width, q_tile);
    i64 end = causal ? min(keys, first + TILE) : keys;  // a causal row sees no later keys
    for (i64 start = 0; start < end; start += TILE) {
        __syncthreads();  // all threads have read the last round's tiles
        load_tile(OF_HEAD(k), start, keys, width, kv_tile);
        __syncthreads();
        wide s[PER][PER];
        multiply_rows(q_tile, kv_tile, s);
        __syncthreads();
        load_tile(OF_HEAD(v), start, keys, value_width, kv_tile);
        EACH_OWN(i, PER) {
            i64 row = first + threadIdx.y + i * SIDE;
            wide top = largest[i], sum = 0;
            EACH_OWN(j, PER) {
                s[i][j] = masked_score(a, row, start + threadIdx.x + j * SIDE, s[i][j]);
                top = fmax(top, s[i][j]);
            }
            HALF_WARP_EACH(step) top = fmax(top, __shfl_xor_sync(WHOLE_WARP, top, step));
            wide shift = top == -INFINITE ? (wide)0 : top;
            EACH_OWN(j, PER) {
                int column = threadIdx.x + j * SIDE;
                wide p = exp(s[i][j] - shift);
                sum += p;
                scores[(threadIdx.y + i * SIDE) * SCORE_PITCH + column] = p * dropout_factor(a, row, start + column);
            }
            HALF_WARP_EACH(step) sum += __shfl_xor_sync(WHOLE_WARP, sum, step);
            wide shrink = exp(largest[i] - shift);  // the sums so far are relative to the old maximum
            total[i] = total[i] * shrink + sum;
            largest[i] = top;
            EACH_OWN(c, COLUMNS) sums[i][c] *= shrink;
        }
        __syncthreads();
        add_product(scores, SCORE_PITCH, 1, kv_tile, sums);
    }
    EACH_OWN(i, PER) {
        i64 row = first + threadIdx.y + i * SIDE;
        EACH_OWN(c, COLUMNS) sums[i][c] = total[i] == 0 ? (wide)0 : sums[i][c] / total[i];
        if (threadIdx.x == 0 && row < queries)
            lse[head * queries + row] = total[i] == 0 ? INFINITE : largest[i] + log(total[i]);
    }
    store_tile(sums, 1, OF_HEAD(out), first, queries, value_width);
}

// The probabilities of a tile after dropout, and the gradient of its scores:
// ds = p * (dropout(g v^T) - delta). The tile's corner is (query, key).
__device__ inline void score_gradients(const Attention& a, i64 query, i64 key, const wide* q_tile,
                                       const wide* k_tile, const wide* g_tile, const wide* v_tile, const wide* lse,
                                       const wide* delta, wide (&p)[PER][PER], wide (&ds)[PER][PER]) {
    multiply_rows(q_tile, k_tile, p);
    multiply_rows(g_tile, v_tile, ds);
    EACH_OWN(i, PER) {
        i64 row = query + threadIdx.y + i * SIDE;
        wide row_lse = row < a.queries ? lse[row] : INFINITE, row_delta = row < a.queries ? delta[row] : (wide)0;
        EACH_OWN(j, PER) {
            i64 column = key + threadIdx.x + j * SIDE;
            wide probability = exp(masked_score(a, row, column, p[i][j]) - row_lse);
            wide kept = dropout_factor(a, row, column);
            ds[i][j] = probability * (ds[i][j] * kept - row_delta);
            p[i][j] = probability * kept;
        }
    }
}

// dq = ds k * scale. Each block handles a tile of queries and loops over all keys. This runs first, and writes the
// sum(g * out) of each row, which the softmax gradient subtracts, to delta (heads, queries). If dmask (heads, queries,
// keys) is passed, ds is written to it; the rest of it stays unchanged.
extern "C" __global__ void __launch_bounds__(SIDE* SIDE, BLOCKS) attention_query_gradients(
    const real* STRIDED(g), const real* STRIDED(q), const real* STRIDED(k), const real* STRIDED(v),
    const real* STRIDED(out), real* STRIDED(dq), const wide* lse, wide* delta, wide* dmask,
    ATTENTION_PARAMETERS) {
    DYNAMIC_SHARED(wide, shared);
    wide *q_tile = shared, *k_tile = q_tile + TILE * PITCH, *g_tile = k_tile + TILE * PITCH;
    wide *v_tile = g_tile + TILE * PITCH, *ds_tile = v_tile + TILE * PITCH;
    i64 tiles = (queries + TILE - 1) / TILE, head = blockIdx.x / tiles, first = blockIdx.x % tiles * TILE;
    Attention a = ATTENTION_OF(head);
    wide sums[PER][COLUMNS] = {};
    load_tile(OF_HEAD(q), first, queries, width, q_tile);
    load_tile(OF_HEAD(g), first, queries, value_width, g_tile);
    load_tile(OF_HEAD(out), first, queries, value_width, k_tile);
    __syncthreads();
    EACH_OWN(i, PER) {
        int row = threadIdx.y + i * SIDE;
        wide dot = 0;
        EACH_OWN(c, COLUMNS) {
            int at = row * PITCH + threadIdx.x + c * SIDE;
            dot += g_tile[at] * k_tile[at];
        }
        HALF_WARP_EACH(step) dot += __shfl_xor_sync(WHOLE_WARP, dot, step);
        if (threadIdx.x == 0 && first + row < queries) delta[head * queries + first + row] = dot;
    }
    i64 end = causal ? min(keys, first + TILE) : keys;
    for (i64 start = 0; start < end; start += TILE) {
        __syncthreads();
        load_tile(OF_HEAD(k), start, keys, width, k_tile);
        load_tile(OF_HEAD(v), start, keys, value_width, v_tile);
        __syncthreads();
        wide p[PER][PER], ds[PER][PER];
        score_gradients(a, first, start, q_tile, k_tile, g_tile, v_tile, lse + head * queries,
                        delta + head * queries, p, ds);
        EACH_OWN(i, PER)
            EACH_OWN(j, PER) {
                i64 row = first + threadIdx.y + i * SIDE, column = start + threadIdx.x + j * SIDE;
                ds_tile[(threadIdx.y + i * SIDE) * SCORE_PITCH + threadIdx.x + j * SIDE] = ds[i][j];
                if (dmask && row < queries && column < keys)
                    dmask[(head * queries + row) * keys + column] = ds[i][j];
            }
        __syncthreads();
        add_product(ds_tile, SCORE_PITCH, 1, k_tile, sums);
    }
    store_tile(sums, a.scale, OF_HEAD(dq), first, queries, width);
}

// dv = p^T g and dk = ds^T q * scale. Each block handles a tile of keys and loops over all queries.
extern "C" __global__ void __launch_bounds__(SIDE* SIDE, BLOCKS) attention_key_gradients(
    const real* STRIDED(g), const real* STRIDED(q), const real* STRIDED(k), const real* STRIDED(v),
    real* STRIDED(dk), real* STRIDED(dv), const wide* lse, const wide* delta, ATTENTION_PARAMETERS) {
    DYNAMIC_SHARED(wide, shared);
    wide *q_tile = shared, *k_tile = q_tile + TILE * PITCH, *g_tile = k_tile + TILE * PITCH;
    wide *v_tile = g_tile + TILE * PITCH, *p_tile = v_tile + TILE * PITCH, *ds_tile = p_tile + TILE * SCORE_PITCH;
    i64 tiles = (keys + TILE - 1) / TILE, head = blockIdx.x / tiles, first = blockIdx.x % tiles * TILE;
    Attention a = ATTENTION_OF(head);
    wide key_sums[PER][COLUMNS] = {}, value_sums[PER][COLUMNS] = {};
    load_tile(OF_HEAD(k), first, keys, width, k_tile);
    load_tile(OF_HEAD(v), first, keys, value_width, v_tile);
    for (i64 start = causal ? first : 0; start < queries; start += TILE) {  // earlier queries do not see these keys
        __syncthreads();
        load_tile(OF_HEAD(q), start, queries, width, q_tile);
        load_tile(OF_HEAD(g), start, queries, value_width, g_tile);
        __syncthreads();
        wide p[PER][PER], ds[PER][PER];
        score_gradients(a, start, first, q_tile, k_tile, g_tile, v_tile, lse + head * queries,
                        delta + head * queries, p, ds);
        EACH_OWN(i, PER)
            EACH_OWN(j, PER) {
                int at = (threadIdx.y + i * SIDE) * SCORE_PITCH + threadIdx.x + j * SIDE;
                p_tile[at] = p[i][j];
                ds_tile[at] = ds[i][j];
            }
        __syncthreads();
        add_product(p_tile, 1, SCORE_PITCH, g_tile, value_sums);
        add_product(ds_tile, 1, SCORE_PITCH, q_tile, key_sums);
    }
    store_tile(key_sums, a.scale, OF_HEAD(dk), first, keys, width);
    store_tile(value_sums, 1, OF_HEAD(dv), first, keys, value_width);
}
