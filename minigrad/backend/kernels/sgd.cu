// A step of stochastic gradient descent in place, with momentum if rows contain an array for it: see optim/sgd.py.

extern "C" __global__ void sgd(MANY, double sign, double decay, double momentum, double rest, double nesterov,
                               double rate) {
    Part part = MY_PART;
    real *param = part.row[0], *buffer = columns == 3 ? part.row[2] : nullptr;
    const real* grad = part.row[1];
    EACH_OF_PART(i, part) {
        wide p = (wide)param[i], step = (wide)sign * (wide)grad[i] + (wide)decay * p;
        if (buffer) {
            wide mean = (wide)momentum * (wide)buffer[i] + (wide)rest * step;
            buffer[i] = (real)mean;
            step = nesterov != 0 ? step + (wide)momentum * mean : mean;
        }
        param[i] = (real)(p - (wide)rate * step);
    }
}
