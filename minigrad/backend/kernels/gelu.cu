// The Gaussian error linear unit, exact (x times the normal distribution's integral) or by tanh.
// "Gaussian Error Linear Units", Hendrycks and Gimpel 2016.

#define SQRT_HALF ((wide)0.70710678118654752440)
#define SQRT_2_OVER_PI ((wide)0.79788456080286535588)
#define DENSITY_AT_0 ((wide)0.39894228040143267794)  // 1 / sqrt(2 pi)
#define CUBIC ((wide)0.044715)

extern "C" __global__ void gelu(const real* x, real* out, i64 count) {
    EACH_ELEMENT(i, count) {
        wide v = (wide)x[i];
        out[i] = (real)((wide)0.5 * v * (1 + erf(v * SQRT_HALF)));
    }
}

extern "C" __global__ void gelu_gradient(const real* g, const real* x, real* dx, i64 count) {
    EACH_ELEMENT(i, count) {
        wide v = (wide)x[i];
        wide integral = (wide)0.5 * (1 + erf(v * SQRT_HALF));
        wide density = DENSITY_AT_0 * exp((wide)-0.5 * v * v);
        dx[i] = (real)((wide)g[i] * (integral + v * density));
    }
}

extern "C" __global__ void gelu_tanh(const real* x, real* out, i64 count) {
    EACH_ELEMENT(i, count) {
        wide v = (wide)x[i];
        wide t = tanh(SQRT_2_OVER_PI * (v + CUBIC * v * v * v));
        out[i] = (real)((wide)0.5 * v * (1 + t));
    }
}

extern "C" __global__ void gelu_tanh_gradient(const real* g, const real* x, real* dx, i64 count) {
    EACH_ELEMENT(i, count) {
        wide v = (wide)x[i];
        wide t = tanh(SQRT_2_OVER_PI * (v + CUBIC * v * v * v));
        wide slope = SQRT_2_OVER_PI * (1 + 3 * CUBIC * v * v);
        dx[i] = (real)((wide)g[i] * (wide)0.5 * (1 + t + v * (1 - t * t) * slope));
    }
}
