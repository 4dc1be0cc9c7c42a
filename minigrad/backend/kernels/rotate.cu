// Rotary embeddings: elements 2 i and 2 i + 1 of a row, rotated by an angle that depends on the row's position and i.
// "RoFormer", Su et al. 2021, equation 15.

// x and out are (batch, heads, length, 2 pairs), turns (length, pairs, 2) has cosines and sines, and count is in pairs.
extern "C" __global__ void rotate(const real* STRIDED(x), const wide* turns, real* STRIDED(out), i64 back, i64 heads,
                                  i64 length, i64 pairs, i64 count) {
    EACH_ELEMENT(i, count) {
        i64 pair = i % pairs, row = i / pairs % length, head = i / pairs / length;
        const real* in = x + head / heads * x_batch + head % heads * x_head + row * x_row + 2 * pair;
        real* to = out + head / heads * out_batch + head % heads * out_head + row * out_row + 2 * pair;
        wide cosine = turns[2 * (row * pairs + pair)], sine = turns[2 * (row * pairs + pair) + 1];
        wide a = (wide)in[0], b = (wide)in[1];
        if (back) sine = -sine;
        to[0] = (real)(a * cosine - b * sine);
        to[1] = (real)(a * sine + b * cosine);
    }
}
