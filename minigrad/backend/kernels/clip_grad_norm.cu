// Computes the joint norm of many arrays, and scales them all.

// The sum of squares of each part, in double, as float32 squares may overflow or underflow.
extern "C" __global__ void squares(MANY, double* sums) {
    Part part = MY_PART;
    double sum = 0;
    EACH_OF_PART(i, part) {
        double x = (double)(wide)part.row[0][i];
        sum += x * x;
    }
    sum = over_row(Sum(), sum);
    if (threadIdx.x == 0) sums[part.which] = sum;
}

// The square root of the sum of all sums, in one block.
extern "C" __global__ void root(const double* sums, real* total, i64 count) {
    double sum = 0;
    EACH_COLUMN(i, count) sum += sums[i];
    sum = over_row(Sum(), sum);
    if (threadIdx.x == 0) total[0] = (real)(wide)sqrt(sum);
}

// x = number · x, or x = by · x, or, if ``clips``, x = min(1, number / (by + 1e-6)) · x, where ``by`` is the norm.
extern "C" __global__ void scale(MANY, const float* by32, const double* by64, i64 clips, double number) {
    Part part = MY_PART;
    double by = by32 ? (double)*by32 : by64 ? *by64 : number, factor = clips ? number / (by + 1e-6) : by;
    if (clips && factor > 1) factor = 1;  // NaN stays NaN
    EACH_OF_PART(i, part) part.row[0][i] = (real)((wide)factor * (wide)part.row[0][i]);
}
