// A step of Adam in place: "Adam: A Method for Stochastic Optimization", Kingma and Ba 2015; decoupled weight
// decay as in "Decoupled Weight Decay Regularization", Loshchilov and Hutter 2019; if rows contain an
// array for the maximum, AMSGrad as in "On the Convergence of Adam and Beyond", Reddi et al. 2018.

extern "C" __global__ void adam(MANY, double sign, double decay, double shrink, double rest1, double beta2,
                                double rest2, double eps, double rate) {
    Part part = MY_PART;
    real *param = part.row[0], *exp_avg = part.row[2], *exp_avg_sq = part.row[3];
    const real* grad = part.row[1];
    EACH_OF_PART(i, part) {
        wide p = (wide)param[i], m = (wide)exp_avg[i], g = (wide)sign * (wide)grad[i] + (wide)decay * p;
        m += (wide)rest1 * (g - m);
        wide v = (wide)beta2 * (wide)exp_avg_sq[i] + (wide)rest2 * g * g;
        exp_avg[i] = (real)m;
        exp_avg_sq[i] = (real)v;
        if (columns == 5) {
            wide most = (wide)part.row[4][i];
            v = most >= v ? most : v;  // NaN propagates
            part.row[4][i] = (real)v;
        }
        param[i] = (real)((wide)shrink * p - (wide)rate * (m / (sqrt(v) + (wide)eps)));
    }
}
