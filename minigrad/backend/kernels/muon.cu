// Muon's update of many matrices in place, around the products of its iteration: see ``muon_step`` in optim/muon.py.
// Rows are (parameter, gradient, mean, x, another x). All x of one shape form a batch.

// Update the mean, set x to the update to be orthogonalized, and compute the sum of x² of each part.
extern "C" __global__ void momentum(MANY, double* sums, double rest, double share) {
    Part part = MY_PART;
    const real* grad = part.row[1];
    double sum = 0;
    EACH_OF_PART(i, part) {
        wide g = (wide)grad[i], m = (wide)part.row[2][i];
        m += (wide)rest * (g - m);
        wide x = g + (wide)share * (m - g);
        part.row[2][i] = (real)m;
        part.row[3][i] = (real)x;
        sum += (double)x * (double)x;
    }
    sum = over_row(Sum(), sum);
    if (threadIdx.x == 0) sums[part.which] = sum;
}

// x / max(‖x‖, eps)
extern "C" __global__ void normalize(MANY, const double* sums, double eps) {
    Part part = MY_PART;
    double sum = 0;
    for (i64 k = part.lead + threadIdx.x; k < part.end; k += blockDim.x) sum += sums[k];
    wide norm = (wide)fmax(sqrt(over_row(Sum(), sum)), eps);
    EACH_OF_PART(i, part) part.row[3][i] = (real)((wide)part.row[3][i] / norm);
}

// a 1 + b gram + c gram² for a batch of n × n matrices, in the memory of gram².
extern "C" __global__ void polynomial(real* square, const real* gram, double a, double b, double c, i64 n, i64 count) {
    EACH_ELEMENT(i, count) {
        wide f = (wide)c * (wide)square[i] + (wide)b * (wide)gram[i];
        square[i] = (real)(i % (n * n) % (n + 1) ? f : f + (wide)a);
    }
}

// θ = shrink · θ - rate · x, where x is the row's array number ``column``.
extern "C" __global__ void descend(MANY, i64 column, double shrink, double rate) {
    Part part = MY_PART;
    real* param = part.row[0];
    EACH_OF_PART(i, part)
    param[i] = (real)((wide)shrink * (wide)param[i] - (wide)rate * (wide)part.row[column][i]);
}
