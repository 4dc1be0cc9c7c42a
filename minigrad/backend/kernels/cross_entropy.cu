// Cross-entropy of logits (rows, n) and class indices (rows,), with class weights and label smoothing.
//
// The target is a distribution: 1 - smoothing on the class itself and smoothing / n on each class, all times
// the class weights. So with coefficients c:  loss = -sum(c * log_softmax(x)),  dx = softmax(x) * sum(c) - c.
// "Rethinking the Inception Architecture for Computer Vision", Szegedy et al. 2016.

#define NAN_VALUE (INFINITE - INFINITE)

// The row's maximum, the logarithm of its sum of exponentials minus that maximum, and 1 - p and -log(p) of its label,
// which are precise even if p rounds to 1.
struct LogSumExp {
    wide largest, log_total, miss, loss;
};

__device__ inline LogSumExp log_sum_exp(const real* x, i64 label, i64 n) {
    wide largest = -INFINITE;
    EACH_COLUMN(j, n) largest = fmax(largest, (wide)x[j]);
    largest = row_max(largest);
    wide others = 0;
    EACH_COLUMN(j, n) if (j != label) others += exp((wide)x[j] - largest);
    others = row_sum(others);
    wide below = label >= 0 && label < n ? (wide)x[label] - largest : -INFINITE;
    wide own = exp(below), log_total = log(others + own);
    return {largest, log_total, others / (others + own), others < own ? log1p(others / own) : log_total - below};
}

__device__ inline wide class_weight(const real* weight, i64 j) { return weight ? (wide)weight[j] : (wide)1; }

// Every thread of the row gets the loss. The sum of the coefficients is written to *total.
__device__ inline wide row_loss(const real* x, const real* weight, i64 target, LogSumExp lse, wide smoothing, i64 n,
                                wide* total) {
    wide hit = (1 - smoothing) * class_weight(weight, target);
    wide loss = hit * lse.loss;
    *total = hit;
    if (smoothing == 0) return loss;
    wide weights = 0, losses = 0;
    EACH_COLUMN(j, n) {
        weights += class_weight(weight, j);
        losses += class_weight(weight, j) * (lse.log_total - ((wide)x[j] - lse.largest));
    }
    *total += smoothing / n * row_sum(weights);
    return loss + smoothing / n * row_sum(losses);
}

// The loss of each row: 0 where the target is ignored, NaN where the class does not exist. Saves largest, log_total,
// total and miss (rows,).
extern "C" __global__ void cross_entropy(const real* x, const i64* target, const real* weight, real* loss,
                                         wide* largest, wide* log_total, wide* total, wide* miss, i64 ignore_index,
                                         double smoothing, i64 rows, i64 n) {
    EACH_ROW(row, rows) {
        i64 label = target[row];
        wide value = 0, coefficients = 0;
        LogSumExp e = {0, 0};
        if (label != ignore_index) {
            e = log_sum_exp(x + row * n, label, n);
            value = NAN_VALUE;
            if (label >= 0 && label < n)
                value = row_loss(x + row * n, weight, label, e, (wide)smoothing, n, &coefficients);
        }
        if (threadIdx.x == 0) {
            loss[row] = (real)value;
            largest[row] = e.largest;  // separate: with a large one, their sum would lose all digits of the logarithm
            log_total[row] = e.log_total;
            total[row] = coefficients;
            miss[row] = e.miss;
        }
    }
}

extern "C" __global__ void cross_entropy_gradient(const real* g, const real* x, const i64* target,
                                                  const real* weight, const wide* largest, const wide* log_total,
                                                  const wide* total, const wide* miss, real* dx, i64 ignore_index,
                                                  double smoothing, i64 rows, i64 n) {
    EACH_ROW(row, rows) {
        i64 label = target[row];
        wide upstream = (wide)g[row];
        EACH_COLUMN(j, n) {
            wide gradient = 0;
            if (label != ignore_index) {
                wide w = class_weight(weight, j), hit = j == label ? (1 - (wide)smoothing) * w : (wide)0;
                wide below = (wide)x[row * n + j] - largest[row];
                wide probability = j == label ? 1 - miss[row] : exp(below - log_total[row]);
                // probability * total - hit - w * smoothing / n
                gradient = probability * (total[row] - hit) - hit * miss[row] - (wide)smoothing / n * w;
                gradient *= upstream;
            }
            dx[row * n + j] = (real)gradient;
        }
    }
}

// For the linear layer's chunks: the loss, and the gradient times scale[0] written over the logits.
extern "C" __global__ void cross_entropy_in_place(real* x, const i64* target, wide* loss, const wide* scale,
                                                  i64 ignore_index, double smoothing, i64 rows, i64 n) {
    EACH_ROW(row, rows) {
        i64 label = target[row];
        real* logits = x + row * n;
        wide value = 0, factor = 0, coefficients = 0;
        LogSumExp e = {0, 0};
        if (label != ignore_index) {
            e = log_sum_exp(logits, label, n);
            value = NAN_VALUE;
            if (label >= 0 && label < n) value = row_loss(logits, 0, label, e, (wide)smoothing, n, &coefficients);
            factor = scale[0];
        }
        if (threadIdx.x == 0) loss[row] = value;
        if (blockDim.x == 32) __syncwarp();  // all have read the target's logit before it is overwritten
        else __syncthreads();
        EACH_COLUMN(j, n) {
            wide slope = j == label ? (wide)smoothing - e.miss : exp((wide)logits[j] - e.largest - e.log_total);
            logits[j] = factor == 0 ? (real)0 : (real)((slope - (wide)smoothing / n) * factor);
        }
    }
}
