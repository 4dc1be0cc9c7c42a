// The Gaussian error linear unit: x times the normal CDF, exact or by tanh. "Gaussian Error Linear Units", Hendrycks
// and Gimpel 2016.

#define SQRT_HALF ((wide)0.70710678118654752440)
#define SQRT_2_OVER_PI ((wide)0.79788456080286535588)
#define DENSITY_AT_0 ((wide)0.39894228040143267794)  // 1 / sqrt(2 pi)
#define CUBIC ((wide)0.044715)

__device__ inline wide integral(wide v, i64 by_tanh) {
    // (1 + tanh u) / 2 and (1 + erf u) / 2, in forms that are precise where they are near 0
    return by_tanh ? 1 / (1 + exp(-2 * SQRT_2_OVER_PI * (v + CUBIC * v * v * v))) : (wide)0.5 * erfc(-v * SQRT_HALF);
}

extern "C" __global__ void gelu(const real* x, real* out, i64 by_tanh, i64 count) {
    EACH_ELEMENT(i, count) out[i] = (real)((wide)x[i] * integral((wide)x[i], by_tanh));
}

extern "C" __global__ void gelu_gradient(const real* g, const real* x, real* dx, i64 by_tanh, i64 count) {
    EACH_ELEMENT(i, count) {
        wide v = (wide)x[i], share = integral(v, by_tanh), density;
        if (by_tanh) density = 2 * share * (1 - share) * SQRT_2_OVER_PI * (1 + 3 * CUBIC * v * v);
        else density = DENSITY_AT_0 * exp((wide)-0.5 * v * v);
        dx[i] = (real)((wide)g[i] * (share + v * density));
    }
}
