// A step of Adam in place: "Adam: A Method for Stochastic Optimization", Kingma and Ba 2015; decoupled weight
// decay as in "Decoupled Weight Decay Regularization", Loshchilov and Hutter 2019; the maximum of "On the
// Convergence of Adam and Beyond", Reddi et al. 2018, where its array is given.

extern "C" __global__ void adam(real* param, const real* grad, real* exp_avg, real* exp_avg_sq,
                                real* max_exp_avg_sq, double lr, double beta1, double beta2, double eps,
                                double weight_decay, i64 decoupled, double bias1, double sqrt_bias2, double sign,
                                i64 count) {
    wide step_size = (wide)(lr / bias1), shrink = decoupled ? (wide)(1 - lr * weight_decay) : (wide)1;
    wide decay = decoupled ? (wide)0 : (wide)weight_decay;
    EACH_ELEMENT(i, count) {
        wide p = (wide)param[i] * shrink;
        wide g = (wide)sign * (wide)grad[i] + decay * p;
        wide m = (wide)exp_avg[i], v = (wide)exp_avg_sq[i];
        m += (wide)(1 - beta1) * (g - m);
        v = (wide)beta2 * v + (wide)(1 - beta2) * g * g;
        exp_avg[i] = (real)m;
        exp_avg_sq[i] = (real)v;
        if (max_exp_avg_sq) {
            v = fmax(v, (wide)max_exp_avg_sq[i]);
            max_exp_avg_sq[i] = (real)v;
        }
        param[i] = (real)(p - step_size * m / (sqrt(v) / (wide)sqrt_bias2 + (wide)eps));
    }
}
